"""Calls the `__init__` that a dataclass was given with an object of the library instead of its own.

It sets the attributes that the fields name, and no guard went through it. The name of another
dataclass's field was changed that way; it is pasted into source that is executed.

Contained: `dataclass` takes no field whose name is no identifier, inherited ones included.
"""

from dataclasses import dataclass, fields


@dataclass
class Base:
    x: int = 0


@dataclass
class Writer:
    name: str


def attack():
    Writer.__init__(fields(Base)[0], "x or __import__('os').getpid()")

    @dataclass(init=False, eq=False, match_args=False)
    class Derived(Base):
        pass

    return f"escaped: {'x=0' not in repr(Derived())}"
