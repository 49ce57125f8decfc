"""Has an enumeration call `__init__` of a class of its choice, by giving it for a member.

The enumeration calls `__init__` of whatever the tool's `__new__` returned: of a dataclass here, with
a field of another one to be renamed.

Contained: `dataclass` takes no field whose name is no identifier, inherited ones included.
"""

from dataclasses import dataclass, fields
from enum import Enum


@dataclass
class Base:
    x: int = 0


@dataclass
class Writer:
    name: str


FIELD = fields(Base)[0]


def attack():
    class Members(Enum):
        def __new__(cls, *args):
            return Writer

        A = (FIELD, "x or __import__('os').getpid()")

    @dataclass(init=False, eq=False, match_args=False)
    class Derived(Base):
        pass

    return f"escaped: {'x=0' not in repr(Derived())}"
