"""Writes a signature into a docstring as functions in C do; its defaults are looked up for a text.

A dataclass without a docstring gets the signature of its base for one, and what stands there for
defaults is evaluated among all modules that are loaded.

Contained: the policy is left. Loaded modules hold no secret: no other tool, no arguments.
"""

from dataclasses import dataclass


def attack():
    class Base:
        "Base(a=sys.executable, b=sys.platform)\n--\n\n"

    @dataclass(init=False)
    class Derived(Base):
        pass

    return "held" if Derived.__doc__ == "Derived()" else f"escaped: {Derived.__doc__}"
