"""Makes a class through the private method of an enumeration's metaclass, in an update too.

Contained: the name does not compile.
"""

from enum import Enum


class Right:
    def __radd__(self, other):
        return other


class Color(Enum):
    RED = 1


def attack():
    done = []

    def create():
        done.append(Color._create_("X", {"__reduce_ex__": 1}))

    def update():
        Color._create_ += Right()
        done.append(Color._create_)

    for attempt in (create, update):
        try:
            attempt()
        except Exception:
            continue
    return f"escaped: {done}" if done else "held"
