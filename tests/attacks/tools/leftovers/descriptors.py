"""Opens as many descriptors as it can of every kind, and closes those it was given.

Contained: 24 at most, in a table of its own.
"""

import os
import select


def attack():
    count = 0
    for make in (os.pipe, lambda: os.dup(0), select.epoll, lambda: os.eventfd(0)):
        try:
            while count < 10_000:
                made = make()
                count += 1
                globals().setdefault("kept", []).append(made)
        except OSError:
            continue
    os.closerange(0, 3)
    return "held" if count < 24 else f"breach: {count}"
