"""The outcomes of an isolated call: a sum type of facts about the code that was called.

An outcome says what the *code* did. A sandbox that could not run it at all raises instead
(`toolhop_sandbox.errors`), so that our own faults are never shown to a model and never scored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue, TypeAdapter

JSON: TypeAlias = JsonValue
"""Any JSON value, as a Python object."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The function returned a value that JSON can represent."""

    json_text: str
    """The value as JSON, with non-ASCII characters kept; tuples are arrays, keys are strings."""
    kind: Literal["returned"] = "returned"


@dataclass(frozen=True, slots=True)
class Raised:
    """The code raised an exception, at module level or in the function."""

    error: str
    """Name of the exception's type, such as ``ValueError``."""
    message: str
    """The exception's message, truncated to 4,000 characters."""
    line: int | None = None
    """Line of the source, from 1, where it was raised; None if it was raised elsewhere."""
    kind: Literal["raised"] = "raised"


@dataclass(frozen=True, slots=True)
class TimedOut:
    """There was no result within the time limit; the process was killed."""

    limit_s: float
    kind: Literal["timed_out"] = "timed_out"


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The process needed more memory than its limit."""

    limit_mib: int
    kind: Literal["out_of_memory"] = "out_of_memory"


@dataclass(frozen=True, slots=True)
class Refused:
    """The policy did not accept the source, so nothing ran."""

    reason: str
    line: int | None = None
    kind: Literal["refused"] = "refused"


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The result's JSON is longer than the limit."""

    size_bytes: int
    limit_bytes: int
    kind: Literal["too_large"] = "too_large"


@dataclass(frozen=True, slots=True)
class NotJson:
    """The function returned something that JSON cannot represent: bytes, NaN, a set, an object."""

    reason: str
    kind: Literal["not_json"] = "not_json"


@dataclass(frozen=True, slots=True)
class Died:
    """The process ended without a result: a crash, ``os._exit``, or a forged reply."""

    reason: str
    kind: Literal["died"] = "died"


Outcome: TypeAlias = (
    Returned | Raised | TimedOut | OutOfMemory | Refused | TooLarge | NotJson | Died
)

OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Annotated[Outcome, Field(discriminator="kind")])
"""Reads and writes outcomes as JSON objects with a ``kind``."""
