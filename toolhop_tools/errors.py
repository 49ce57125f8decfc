"""Errors in data files, as lists of problems that a person can fix.

ToolsError
├── DataError             the data cannot be used; `problems` lists every fault, not the first
│   ├── DataNotFound      no data set has that name or path
│   ├── DataNotFetched    a known data set that is not on this machine yet
│   └── BadChoice         an id, a pattern or a limit that matches no item
└── FetchError            a download or import did not yield the pinned file
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from pydantic_core import ValidationError

from toolhop_sandbox.outcome import JSON

PRINTED = 50
"""Number of problems in the text of a `DataError`; the rest are only counted."""

ProblemLevel: TypeAlias = Literal["error", "finding"]
"""An ``error`` makes its row unusable; a ``finding`` is suspicious, but the row is used."""


@dataclass(frozen=True, slots=True)
class DataProblem:
    """One fault of a data file."""

    rule: str
    """Short stable name, such as ``wrong-type``."""
    where: str
    """The row: ``id 127``, or ``row 3`` / ``line 3`` (counted from 1) if it has no usable id."""
    field: str
    """Path within the row, such as ``tools[2].parameters``."""
    expected: str
    given: str
    level: ProblemLevel = "error"

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.where, self.field) if part)
        said = f"expected {self.expected}; given {self.given}"
        return f"{place}: {said}" if place else said

    def to_json(self) -> dict[str, JSON]:
        """The fields as a JSON object."""
        return asdict(self)


class ToolsError(Exception):
    """Base class of this package's errors."""


class DataError(ToolsError):
    """The data cannot be used as requested.

    `problems` lists every error found, in file order. `fix` says what to do if correcting the named
    fields is not enough.
    """

    def __init__(
        self, message: str, problems: Iterable[DataProblem] = (), *, origin: str = "", fix: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.problems = tuple(problems)
        self.origin = origin
        self.fix = fix

    def __str__(self) -> str:
        head = f"{self.origin}: {self.message}" if self.origin else self.message
        lines = [head, *(f"  {problem}" for problem in self.problems[:PRINTED])]
        if len(self.problems) > PRINTED:
            lines.append(f"  and {len(self.problems) - PRINTED} more, not listed here")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


class DataNotFound(DataError):
    """No data set has that name and no file has that path."""


class DataNotFetched(DataError):
    """The data set is known, but its file is not in the cache folder."""


class BadChoice(DataError):
    """The requested ids, pattern or limit match no item; the data itself may be sound."""


class FetchError(ToolsError):
    """The file could not be fetched, or is not the pinned one. Nothing was stored."""

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(f"{message}\n  fix: {fix}")
        self.message = message
        self.fix = fix


def counted(number: int, noun: str) -> str:
    """Return the number with its noun, such as ``1 row`` or ``2 rows``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def why(error: Exception) -> str:
    """Return one line saying why a file cannot be read; the caller's message names the file.

    For a validation error, it is the first place that fails, without the value found there.
    """
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"{place}: {first['msg']}" if place else first["msg"]
    return (isinstance(error, OSError) and error.strerror) or str(error).partition("\n")[0]


def faults(error: ValidationError) -> list[str]:
    """Describe each place that fails validation, without the values found there."""
    rows = error.errors(include_url=False, include_context=False, include_input=False)
    return [f"{'.'.join(map(str, row['loc'])) or 'the reply'}: {row['msg']}" for row in rows]


def shown(value: object) -> str:
    """Describe a value briefly for the ``given`` of a problem: its kind, and its text if short."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {_cut(json.dumps(value))}"
        case str():
            return _cut(json.dumps(value)) if value.strip() else "blank text"
        case dict():
            return "an empty object" if not value else f"an object of {counted(len(value), 'key')}"
        case list():
            return "an empty list" if not value else f"a list of {len(value)}"
        case _:
            return type(value).__name__


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
