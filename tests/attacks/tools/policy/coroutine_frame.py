"""Takes the frame of a coroutine that was never awaited.

Contained: `async` is syntax that tools may not use.
"""


def attack():
    async def wait():
        return 1

    waiting = wait()
    frame = waiting.cr_frame
    waiting.close()
    return f"escaped: {frame}"
