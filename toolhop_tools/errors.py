"""Faults of data files, as lists of problems a person can fix.

ToolsError
├── DataError             the data cannot be used; `problems` lists every fault, not the first
│   ├── DataNotFound      nothing at that name or path; nothing was read
│   ├── DataNotFetched    a known data set that is not on this machine yet
│   └── BadChoice         an id, a pattern or a limit that fits no item
└── FetchError            a download or import did not end with the pinned file
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from pydantic_core import ValidationError

from toolhop_sandbox.outcome import JSON

PRINTED = 50
"""Problems that the text of a `DataError` lists; the rest are counted."""

ProblemLevel: TypeAlias = Literal["error", "finding"]
"""An ``error`` makes its row unusable; a ``finding`` is suspicious, and the row is used."""


@dataclass(frozen=True, slots=True)
class DataProblem:
    """One fault of a data file."""

    rule: str
    """Short stable name, such as ``wrong-type``."""
    where: str
    """The row: ``id 127``, or ``row 3`` (from 1) or ``line 3`` where it has no usable id."""
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
    """Base of this layer's faults."""


class DataError(ToolsError):
    """The data cannot be used as asked.

    `problems` holds every error found, in the order of the file. `fix` says what to do where
    that is more than correcting the fields named.
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
    """No data set of that name and no file at that path."""


class DataNotFetched(DataError):
    """The data set is known, and its file is not in the cache folder."""


class BadChoice(DataError):
    """What was asked for names no item of the data set; the data itself may be sound."""


class FetchError(ToolsError):
    """The file could not be had, or was not the pinned one. Nothing was kept."""

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(f"{message}\n  fix: {fix}")
        self.message = message
        self.fix = fix


def counted(number: int, noun: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def why(error: Exception) -> str:
    """What stands in the way of reading a file, in a line, without the path, which the message
    names anyway; of what does not validate the first place, without what stands there.
    """
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"{place}: {first['msg']}" if place else first["msg"]
    return (isinstance(error, OSError) and error.strerror) or str(error).partition("\n")[0]


def faults(error: ValidationError) -> list[str]:
    """What does not validate, each with its place; what stands there is not said."""
    rows = error.errors(include_url=False, include_context=False, include_input=False)
    return [f"{'.'.join(map(str, row['loc'])) or 'the reply'}: {row['msg']}" for row in rows]


def shown(value: object) -> str:
    """A value in few words, for the ``given`` of a problem: its kind, and a short one's text."""
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
