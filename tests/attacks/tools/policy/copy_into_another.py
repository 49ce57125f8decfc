"""Gives `copy` an object of the library to fill in, from a class whose `__new__` returns it.

The name of a dataclass's field was changed that way; it is pasted into source that is executed.

Contained: `dataclass` takes no field whose name is no identifier, inherited ones included.
"""

import copy
from dataclasses import dataclass, fields


@dataclass
class Base:
    x: int = 0


FIELD, READY = fields(Base)[0], []


class Filled:
    __slots__ = ("name",)

    def __new__(cls):
        return FIELD if READY else object.__new__(cls)


def attack():
    filled = Filled()
    filled.name = "x or __import__('os').getpid()"
    READY.append(1)
    copy.copy(filled)

    @dataclass(init=False, eq=False, match_args=False)
    class Derived(Base):
        pass

    return f"escaped: {'x=0' not in repr(Derived())}"
