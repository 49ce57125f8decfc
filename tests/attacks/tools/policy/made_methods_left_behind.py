"""Gets at the methods of a dataclass before they are guarded, or where that is forgotten.

Where the library gives up half-way, in the class that `slots=True` leaves behind, and from code of
its own that runs in between. `__eq__` then handed private attributes of the library to an object of
the tool's.

Contained: `type` does not hand out the classes of `typing`.
"""

from dataclasses import dataclass
from typing import Union

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


class Caught:
    def __eq__(self, other):
        CAUGHT.append(other)
        return False


class Own:
    _evaluate = Caught()


class Abandoned:
    _evaluate: object

    def __lt__(self, other):
        return False


class Left:
    _evaluate: object


class Annotation:
    def __repr__(self):
        KEPT.append(Between.__eq__)
        return "object"


class Between:
    _evaluate: Annotation()


KEPT = []


def attack():
    found = reference()
    try:
        dataclass(order=True)(Abandoned)
    except TypeError:
        pass
    dataclass(slots=True)(Left)
    dataclass(Between)
    for compare in (Abandoned.__eq__, Left.__eq__, *KEPT):
        del CAUGHT[:]
        try:
            compare(type(found), Own)
        except Exception:
            continue
        for evaluate in CAUGHT:
            return f"escaped: {evaluate(found, {}, {}, frozenset())}"
    return "held"
