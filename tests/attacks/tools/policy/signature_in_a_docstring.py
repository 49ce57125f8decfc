"""Writes a signature into a docstring as functions in C do; its defaults are looked up for a text.

A dataclass without a docstring gets the signature of its base for one, and what stands there for
defaults is evaluated among all modules that are loaded.

Contained: a class whose docstring tells a signature cannot be the base of a dataclass.
"""

from dataclasses import dataclass


def attack():
    class Base:
        "Base(a=sys.executable, b=sandbox.worker.standby.FILENAME)\n--\n\n"

    @dataclass(init=False)
    class Derived(Base):
        pass

    return f"escaped: {Derived.__doc__}"
