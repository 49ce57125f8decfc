"""Derives from `Annotated[str, ...]`, for the real `str` where the stand-in was meant to be.

A dataclass then fetched the real `str.format` by a field of that name.

Contained: what stands behind a parametrised base is looked at.
"""

from dataclasses import asdict, dataclass
from typing import Annotated


@dataclass(init=False)
class Formats:
    format: object


class Text(Formats, Annotated[str, "x"]):
    pass


def attack():
    return "escaped: " + asdict(Text("{0.__" + "class__}"))["format"](1)
