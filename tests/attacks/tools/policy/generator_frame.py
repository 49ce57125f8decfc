"""Goes from a running generator to the frame that runs it, and up to the worker's own.

CVE-2023-37271.

Contained: the names of frames do not compile, and `getattr` does not know them.
"""


def attack():
    def walk():
        yield inner.gi_frame.f_back.f_back.f_globals

    inner = walk()
    return f"escaped: {len(next(inner))}"
