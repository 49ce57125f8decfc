"""Where in a tool's result an answer stands, and reading it from there. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from pydantic import TypeAdapter

from toolhop_sandbox.outcome import JSON
from toolhop_tools.dates import in_notation, whole_date

MOST_DIGITS = 400
"""Digits of an integer that is read as a number; a longer one is read as text."""

Path = tuple[str | int, ...]


AS_PYTHON = "python"


class Match(StrEnum):
    """In what sense a result is the gold."""

    VALUE = "value"
    """A leaf is the gold under the strict answer rule."""
    DATE = "date"
    """A leaf is the same day in another notation, or the one date of a text is."""
    ACCENTS = "accents"
    """A leaf is the gold but for accents."""
    ELEMENTS = "list"
    """A list has the gold's elements, in order."""
    WORDS = "within a text"
    """The gold stands in a text leaf as whole words."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Where in a result the answer stands, so that it can be read from the result alone."""

    match: Match
    path: Path = ()
    """Keys and indexes from the result to the leaf."""
    span: tuple[int, int] | None = None
    """First letter and the one after the last, where the answer is a part of a text leaf."""
    notation: str = ""
    """In which the data set writes it: of a date as `strftime` has it, of a list `AS_PYTHON`."""


def read_result(json_text: str) -> JSON:
    """A result's value; None for one that is too deeply nested, a huge integer as text."""
    try:
        value: JSON = json.loads(json_text, parse_int=_integer)
    except (ValueError, RecursionError):
        return None
    return value


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= MOST_DIGITS else digits


def leaf_text(leaf: JSON) -> str:
    """A scalar as an answer would have it: a number without an exponent."""
    if isinstance(leaf, float):
        return format(Decimal(repr(leaf)), "f")
    return leaf if isinstance(leaf, str) else json.dumps(leaf)


def answer_at(value: JSON, reading: Reading) -> str | None:
    """The answer that a result gives where `reading` says it stands; None where it has none."""
    part = value
    for step in reading.path:
        if not isinstance(part, dict | list):  # a text has letters, and no parts
            return None
        try:
            part = part[step]  # type: ignore[index]
        except (TypeError, KeyError, IndexError):
            return None
    if isinstance(part, list | dict):
        return str(part) if reading.notation == AS_PYTHON else json.dumps(part, ensure_ascii=False)
    text = leaf_text(part)
    if reading.span is not None:
        text = text[slice(*reading.span)]
    if reading.match is Match.DATE and (day := whole_date(text)) is not None:
        return in_notation(day, reading.notation)
    return text if text or reading.span is None else None


_READING = TypeAdapter(Reading)


def reading_to_json(reading: Reading) -> JSON:
    """A reading as a JSON object."""
    value: JSON = _READING.dump_python(reading, mode="json", exclude_defaults=True)
    return value


def reading_from_json(value: JSON) -> Reading:
    """The reading in a JSON object.

    Raises:
        ValueError: there is none.
    """
    return _READING.validate_python(value)
