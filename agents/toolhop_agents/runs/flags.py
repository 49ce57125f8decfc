"""How a setting is given on the command line, and the values that are read from its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

Count = Annotated[int | None, Field(ge=1)]
Amount = Annotated[float | None, Field(gt=0, allow_inf_nan=False)]


class Section(StrEnum):
    """Headings of the flags of a run in help texts, in their order."""

    PLAYER = "Who plays"
    ITEMS = "Items"
    ASKING = "How they are asked"
    REQUESTS = "Requests to the model"
    STAND_INS = "Judges, and models in place of tools and users"
    SANDBOX = "Sandbox"
    LIMITS = "Limits"
    WHERE = "Where"
    KEEPING = "Keeping and watching"


@dataclass(frozen=True, slots=True)
class Flag:
    """How a setting is given on the command line, where its name does not say it."""

    help: str
    names: tuple[str, ...] = ()
    """The flag's names, the first the usual one; made of the field's name where empty."""
    metavar: str | None = None
    default: str | None = None
    """What is taken where nothing is given, as text; the field's default where None."""
    parse: Callable[[str], object] | None = None
    """From the text to the value; raises ValueError where it is none."""
    alone: str | None = None
    """The value of a flag that is given without one; None if it needs one."""
    section: Section | None = None
    """Under which heading help texts have it."""
    goes_with: str = ""
    """The setting that this one means nothing without; empty if there is none."""
    operational: bool = False
    """Whether the setting changes how far and how fast the work goes, and no result: a session that
    resumes may change it."""


def flag_of(field: FieldInfo) -> Flag | None:
    """The flag of a setting; None if it has none."""
    return next((part for part in field.metadata if isinstance(part, Flag)), None)


def _flags(model: type[BaseModel]) -> Iterator[tuple[str, Flag]]:
    flags = ((name, flag_of(field)) for name, field in model.model_fields.items())
    return ((name, flag) for name, flag in flags if flag is not None)


def operational(model: type[BaseModel]) -> frozenset[str]:
    """Names of the settings that a session that resumes may change."""
    return frozenset(name for name, flag in _flags(model) if flag.operational)


def in_section(model: type[BaseModel], section: Section) -> tuple[str, ...]:
    """Names of the settings under a heading, in the fields' order."""
    return tuple(name for name, flag in _flags(model) if flag.section is section)


def goes_with(model: type[BaseModel]) -> dict[str, str]:
    """By name of a setting, the one that it means nothing without."""
    return {name: flag.goes_with for name, flag in _flags(model) if flag.goes_with}


_UNITS = ("_s", "_mib")
"""Endings that name a unit and do not belong to the flag."""


def flag_name(name: str) -> str:
    """The usual flag of a setting, such as ``--timeout`` for ``timeout_s``."""
    for unit in _UNITS:
        name = name.removesuffix(unit)
    return "--" + name.replace("_", "-")


def modes_of(text: str) -> tuple[str, ...]:
    """Modes from a list with commas; ``all`` stands for those of the benchmark.

    Raises:
        ValueError: none is named.
    """
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not found:
        raise ValueError(f"{text!r} names no mode; give modes with commas, or all")
    return found


def shard_of(text: str) -> tuple[int, int]:
    """Which part of how many, from ``2/5``.

    Raises:
        ValueError: it is no part.
    """
    number, slash, count = text.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise ValueError(f"{text!r} is no part of a run; give I/N, such as 2/5, with I from 1 to N")


def temperature_of(text: str) -> float | None:
    """A number from 0 on, or None for ``none``.

    Raises:
        ValueError: it is neither.
    """
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"{text!r}; give a number from 0 on, or none")
    return value


def max_tokens_of(text: str) -> int | None:
    """A number from 1 on, or None for ``none``.

    Raises:
        ValueError: it is neither.
    """
    if text == "none":
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError(f"{text!r} is not in the range x>=1; give a whole number, or none")
    return int(text)
