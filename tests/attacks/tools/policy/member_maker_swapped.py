"""Swaps what an enumeration makes its members by, when the first of them is made.

The library then calls `__init__` of whatever that gives: of `NewType` here, which renames a class
to one that tools may derive from. From `ForwardRef` it was, whose method evaluates text.

Contained: `type` does not hand out the classes of `typing`.
"""

from enum import Enum
from typing import NewType, Union

TEXT = "__import__('os').getpid()"
CAUGHT = []


class Twin:
    def __call__(self):
        return None

    def __eq__(self, other):
        CAUGHT.append(other)
        return False

    def __hash__(self):
        return hash((TEXT, None))


def reference():
    """A forward reference of the library, which evaluates text by a private method."""
    try:
        Union[Twin(), TEXT]
    except TypeError:
        pass
    return next(one for one in CAUGHT if type(one).__name__ == "ForwardRef")


def renamed(target):
    class Members(Enum):
        FIRST = 1
        SECOND = (target, "Enum", int)

        def __init__(self, *args):
            self.__class__._new_member_ = lambda *ignored: type(NewType("N", int))


def attack():
    kind = type(reference())
    try:
        renamed(kind)
    except TypeError:
        pass  # By then it is done.

    class Evaluator(kind, _root=True):
        pass

    return f"escaped: {Evaluator(TEXT)._evaluate({}, {}, frozenset())}"
