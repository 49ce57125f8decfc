"""Names the fields of dataclasses and named tuples so that their generated source does more.

Contained: what is no identifier cannot be a field.
"""

from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple, TypedDict


def attack():
    made = []
    evil = "x=__import__('os').getpid()"
    for make in (
        lambda: namedtuple("P", [evil]),
        lambda: namedtuple(evil, ["x"]),
        lambda: NamedTuple("P", [(evil, int)]),
        lambda: dataclass(TypedDict("T", {evil: int})),
    ):
        try:
            made.append(make())
        except Exception:
            continue
    return f"escaped: {made}" if made else "held"
