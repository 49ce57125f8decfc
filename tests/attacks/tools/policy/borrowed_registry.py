"""Gives a class of its own the registry of `Sequence`, so that texts become its instances.

A pattern then fetched the real `str.format` from a text.

Contained: the registry cannot be named.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(init=False)
class Lines(Sequence):
    format: object

    def __len__(self):
        return 0

    def __getitem__(self, index):
        return None


def attack():
    Lines._abc_impl = super(Lines, Lines)._abc_impl
    match "{0.__class__.__mro__}":
        case Lines(format):
            return "escaped: " + format(1)
    return "held"
