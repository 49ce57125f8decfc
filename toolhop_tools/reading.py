"""Locate an answer in a tool's result, and read it from there. No side effects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from pydantic import TypeAdapter

from toolhop_sandbox.outcome import JSON
from toolhop_tools.dates import in_notation, whole_date

MOST_DIGITS = 400
"""Maximum number of digits of an integer that is parsed as a number; longer ones become text."""

Path = tuple[str | int, ...]


AS_PYTHON = "python"


class Match(StrEnum):
    """How a result matches the gold."""

    VALUE = "value"
    """A leaf equals the gold under the strict answer rule."""
    DATE = "date"
    """A leaf is, or contains as its only date, the same day in another notation."""
    ACCENTS = "accents"
    """A leaf equals the gold except for accents."""
    ELEMENTS = "list"
    """A list has the gold's elements, in order."""
    WORDS = "within a text"
    """The gold occurs in a text leaf as whole words."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Position of the answer in a result, so that it can be read without knowing the gold."""

    match: Match
    path: Path = ()
    """Keys and indexes from the result to the leaf."""
    span: tuple[int, int] | None = None
    """Start and end offsets if the answer is a part of a text leaf; else None."""
    notation: str = ""
    """The data set's notation: a `strftime` format for a date, `AS_PYTHON` for a list."""


def read_result(json_text: str) -> JSON:
    """Parse a result; None if it is too deeply nested. Huge integers become text."""
    try:
        value: JSON = json.loads(json_text, parse_int=_integer)
    except (ValueError, RecursionError):
        return None
    return value


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= MOST_DIGITS else digits


def leaf_text(leaf: JSON) -> str:
    """Format a scalar as an answer: a number without an exponent."""
    if isinstance(leaf, float):
        return format(Decimal(repr(leaf)), "f")
    return leaf if isinstance(leaf, str) else json.dumps(leaf)


def answer_at(value: JSON, reading: Reading) -> str | None:
    """Return the answer at the position that `reading` names; None if nothing is there."""
    part = value
    for step in reading.path:
        if not isinstance(part, dict | list):  # indexing a text would give letters
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
    """Convert a reading to a JSON object."""
    value: JSON = _READING.dump_python(reading, mode="json", exclude_defaults=True)
    return value


def reading_from_json(value: JSON) -> Reading:
    """Parse the reading in a JSON object.

    Raises:
        ValueError: the object is not a reading.
    """
    return _READING.validate_python(value)
