"""Takes 200 MiB on its module level, and keeps them while it stands ready.

Contained: it does not run before its call; an honest tool gets what it is promised.
"""

KEPT = bytearray(b"x") * (200 << 20)


def attack():
    return f"held: {len(KEPT)}"
