"""Command-line flags of settings, and parsers for their values."""

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
    """Headings of a run's flags in help texts, in order."""

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
    """Properties of a setting's command-line flag that cannot be derived from the field."""

    help: str
    names: tuple[str, ...] = ()
    """Names of the flag, the usual one first; derived from the field's name if empty."""
    metavar: str | None = None
    default: str | None = None
    """Default as text; None for the field's default."""
    parse: Callable[[str], object] | None = None
    """Converts text to the value. Raises ValueError for invalid text."""
    alone: str | None = None
    """Value of the flag if given without one; None if it requires a value."""
    section: Section | None = None
    """Heading of the flag in help texts."""
    goes_with: str = ""
    """Setting that this one requires; empty if none."""
    operational: bool = False
    """Whether the setting affects only the pace and extent of the work, not its results, so that
    a resumed session may change it."""


def flag_of(field: FieldInfo) -> Flag | None:
    """Return the flag of a setting, or None if it has none."""
    return next((part for part in field.metadata if isinstance(part, Flag)), None)


def _flags(model: type[BaseModel]) -> Iterator[tuple[str, Flag]]:
    flags = ((name, flag_of(field)) for name, field in model.model_fields.items())
    return ((name, flag) for name, flag in flags if flag is not None)


def operational(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of the settings that a resumed session may change."""
    return frozenset(name for name, flag in _flags(model) if flag.operational)


def in_section(model: type[BaseModel], section: Section) -> tuple[str, ...]:
    """Return the names of the settings under a heading, in field order."""
    return tuple(name for name, flag in _flags(model) if flag.section is section)


def goes_with(model: type[BaseModel]) -> dict[str, str]:
    """Return the setting that each setting requires, for those that require one."""
    return {name: flag.goes_with for name, flag in _flags(model) if flag.goes_with}


_UNITS = ("_s", "_mib")
"""Name endings for units, which flags omit."""


def flag_name(name: str) -> str:
    """Return the usual flag of a setting, such as ``--timeout`` for ``timeout_s``."""
    for unit in _UNITS:
        name = name.removesuffix(unit)
    return "--" + name.replace("_", "-")


def modes_of(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of modes; ``all`` means all modes of the benchmark.

    Raises:
        ValueError: the list is empty.
    """
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not found:
        raise ValueError(f"{text!r} names no mode; give modes with commas, or all")
    return found


def shard_of(text: str) -> tuple[int, int]:
    """Parse a shard such as ``2/5`` into its number and the number of shards.

    Raises:
        ValueError: the text is not a shard.
    """
    number, slash, count = text.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise ValueError(f"{text!r} is no part of a run; give I/N, such as 2/5, with I from 1 to N")


def pass_rate_of(text: str) -> tuple[float, float]:
    """Parse a range of shares such as ``0.2-0.8``, both ends included.

    Raises:
        ValueError: the text is not such a range.
    """
    parts = text.split("-")
    if len(parts) == 2 and all(part.strip().replace(".", "", 1).isdecimal() for part in parts):
        low, high = map(float, parts)
        if low <= high <= 1:
            return low, high
    raise ValueError(f"{text!r} is no range of pass rates; give two shares, such as 0.2-0.8")


def temperature_of(text: str) -> float | None:
    """Parse a number from 0 up; ``none`` gives None.

    Raises:
        ValueError: the text is neither.
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
    """Parse a number from 1 up; ``none`` gives None.

    Raises:
        ValueError: the text is neither.
    """
    if text == "none":
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError(f"{text!r} is not in the range x>=1; give a whole number, or none")
    return int(text)
