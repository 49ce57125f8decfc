"""Registers foreign classes as its own, to have patterns and checks take them for tool objects.

Contained: `register` of an abstract class is refused, however it is fetched.
"""

from abc import ABC
from numbers import Number
from operator import attrgetter


class Mine(ABC):
    pass


def attack():
    done = []
    for register in (
        lambda: Mine.register(str),
        lambda: Number.register(str),
        lambda: attrgetter("register")(Mine)(int),
        lambda: getattr(Mine, "reg" + "ister")(int),
        lambda: Mine.__subclasshook__(int),
    ):
        try:
            register()
        except Exception:
            continue
        done.append(register)
    return f"escaped: {done}" if done else "held"
