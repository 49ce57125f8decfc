"""The verdict on one call: read and valid, or an error with a code.

One list of codes for every benchmark and report. The first ten are decided before anything
runs; the others are what came of running. ToolHop (paper section 4.1) counts an invocation error
without saying which; its released code has no count at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from toolhop_sandbox.outcome import JSON


class ErrorCode(StrEnum):
    """Why a call failed. The order is that of precedence: a call's code is its first.

    A misspelt argument that is required is both missing and unexpected, and counts as missing.
    """

    NOT_JSON = "not_json"
    """The arguments' text is not JSON."""
    NOT_OBJECT = "not_object"
    """It is JSON, but no object."""
    UNKNOWN_TOOL = "unknown_tool"
    MISSING_ARGUMENT = "missing_argument"
    UNEXPECTED_ARGUMENT = "unexpected_argument"
    WRONG_TYPE = "wrong_type"
    NOT_IN_ENUM = "not_in_enum"
    SCHEMA_VIOLATION = "schema_violation"
    """Any other rule of the schema: bounds, length, pattern. Not `format`, which JSON Schema
    2020-12 takes for a remark."""
    MALFORMED_CALL = "malformed_call"
    """A call in a form that is not read (`toolhop_env.malformed`), and that was answered."""
    NOT_APPROVED = "not_approved"
    """A person or policy was asked, and refused it (`toolhop_env.responders.Approver`)."""

    RAISED = "raised"
    RETURNED_ERROR = "returned_error"
    """The tool returned normally, and what it returned says that it failed."""
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    REFUSED = "refused"
    """The policy does not run this tool's code."""
    TOO_LARGE = "too_large"
    RESULT_NOT_JSON = "result_not_json"
    DIED = "died"


BEFORE_RUNNING = frozenset(list(ErrorCode)[:10])
"""Codes of calls that were not run."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a call's text or arguments."""

    code: ErrorCode
    path: str
    """Where in the arguments, such as ``filters.years[0]``; empty for the whole."""
    given: str
    """What was there, shortened for reading; empty where nothing was."""
    allowed: str
    """What would have been accepted."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was read and fits its tool's schema."""

    tool: str
    arguments: dict[str, JSON]
    """As read: an integer written 5.0 is a float here."""


@dataclass(frozen=True, slots=True)
class Repair:
    """The reading that would have worked. Recorded beside the strict verdict, never applied."""

    tool: str
    arguments: dict[str, JSON]
    steps: tuple[str, ...]
    """What had to be done to the text, such as ``trailing_text``, ``python_literal``."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A call that was not run."""

    problems: tuple[Problem, ...]
    """At least one, in order of precedence; a long list is cut (`toolhop_env.validation`)."""
    repair: Repair | None = None

    @property
    def code(self) -> ErrorCode:
        """The first problem's code."""
        return self.problems[0].code
