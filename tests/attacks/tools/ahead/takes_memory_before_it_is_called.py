"""Takes 200 MiB on its module level, and keeps them while it stands ready.

Contained: an honest tool still gets what it is promised.
"""

KEPT = bytearray(b"x") * (200 << 20)


def attack():
    return f"held: {len(KEPT)}"
