"""The same with the names put together while it runs.

Contained: `getattr` follows the rules for names in source.
"""


def attack():
    def walk():
        frame = getattr(inner, "gi_" + "frame")
        yield getattr(getattr(frame, "f_" + "back"), "f_" + "globals")

    inner = walk()
    return f"escaped: {len(next(inner))}"
