"""Writes a signature into a docstring as functions in C do; its defaults are looked up for a text.

A dataclass without a docstring gets the signature of its base for one, and what stands there for
defaults is evaluated among all modules that are loaded.

Contained: the library is told the signature of `__init__`, and reads no docstring.
"""

from dataclasses import dataclass


def attack():
    class Base:
        "Base(a=sys.executable, b=sandbox.worker.standby.FILENAME)\n--\n\n"

    @dataclass(init=False)
    class Derived(Base):
        pass

    return "held" if Derived.__doc__ == "Derived()" else f"escaped: {Derived.__doc__}"
