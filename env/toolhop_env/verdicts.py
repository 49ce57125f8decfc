"""The verdict on one call: valid, or an error with a code.

Every benchmark and report uses the same codes. Those before `RAISED` are decided before anything
runs, the others by running. ToolHop (paper section 4.1) counts an invocation error without giving
its kind; its released code counts none at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from toolhop_sandbox.outcome import JSON


class ErrorCode(StrEnum):
    """Why a call failed, in order of precedence: a call's code is the first that applies.

    A misspelt required argument is both missing and unexpected, and counts as missing.
    """

    NOT_JSON = "not_json"
    """The arguments' text is not JSON."""
    NOT_OBJECT = "not_object"
    """The arguments are JSON, but not an object."""
    UNKNOWN_TOOL = "unknown_tool"
    MISSING_ARGUMENT = "missing_argument"
    UNEXPECTED_ARGUMENT = "unexpected_argument"
    WRONG_TYPE = "wrong_type"
    NOT_IN_ENUM = "not_in_enum"
    SCHEMA_VIOLATION = "schema_violation"
    """Any other rule of the schema: bounds, length, pattern. `format` is not checked, as JSON
    Schema 2020-12 treats it as an annotation."""
    MALFORMED_CALL = "malformed_call"
    """A malformed call (`toolhop_env.malformed`) that got feedback."""
    NOT_APPROVED = "not_approved"
    """Refused by the person or policy asked for approval (`toolhop_env.responders.Approver`)."""

    RAISED = "raised"
    RETURNED_ERROR = "returned_error"
    """The tool returned normally, but its result reports a failure."""
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    REFUSED = "refused"
    """The policy does not allow this tool's code."""
    TOO_LARGE = "too_large"
    RESULT_NOT_JSON = "result_not_json"
    DIED = "died"


BEFORE_RUNNING = frozenset([*ErrorCode][: [*ErrorCode].index(ErrorCode.RAISED)])
"""Codes of calls that were not run."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a call's text or arguments."""

    code: ErrorCode
    path: str
    """Path in the arguments, such as ``filters.years[0]``; empty for the whole."""
    given: str
    """The value given, shortened for reading; empty if there was none."""
    allowed: str
    """What would have been accepted."""


@dataclass(frozen=True, slots=True)
class Call:
    """A valid call, which fits its tool's schema."""

    tool: str
    arguments: dict[str, JSON]
    """Arguments as parsed: an integer written as 5.0 is a float here."""


@dataclass(frozen=True, slots=True)
class Repair:
    """The reading that would have worked. Recorded with the strict verdict, never applied."""

    tool: str
    arguments: dict[str, JSON]
    steps: tuple[str, ...]
    """Changes that were needed, such as ``surrounding_text`` or ``python_literal``."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A call that was not run."""

    problems: tuple[Problem, ...]
    """At least one problem, in order of precedence; at most `validation.MOST_PROBLEMS`."""
    repair: Repair | None = None

    @property
    def code(self) -> ErrorCode:
        """The code of the first problem."""
        return self.problems[0].code
