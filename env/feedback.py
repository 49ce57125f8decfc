"""What a player is told about its call. Verbosity lives here and nowhere else.

ToolHop's ablation (paper table 5) compares feedback that says what went wrong with feedback that
only says that something did. The texts here are ours; a success reads the same at every level.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from env.verdicts import Call, ErrorCode, Problem, Rejected
from sandbox.outcome import (
    JSON,
    Died,
    NotJson,
    Outcome,
    OutOfMemory,
    Raised,
    Refused,
    Returned,
    TimedOut,
    TooLarge,
)


class Level(StrEnum):
    """How much the feedback to a failed call tells."""

    DETAILED = "detailed"
    MINIMAL = "minimal"


@dataclass(frozen=True, slots=True)
class Feedback:
    """The text shown to the player, and whether the call succeeded."""

    text: str
    error: ErrorCode | None = None

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.error is None


_CODE_BY_KIND = {
    "raised": ErrorCode.RAISED,
    "timed_out": ErrorCode.TIMED_OUT,
    "out_of_memory": ErrorCode.OUT_OF_MEMORY,
    "refused": ErrorCode.REFUSED,
    "too_large": ErrorCode.TOO_LARGE,
    "not_json": ErrorCode.RESULT_NOT_JSON,
    "died": ErrorCode.DIED,
}


def render(level: Level, name: str, verdict: Call | Rejected, outcome: Outcome | None) -> Feedback:
    """Feedback to a call of `name`: `outcome` is None exactly where the call was rejected."""
    code = error_code(verdict, outcome)
    if isinstance(outcome, Returned) and code is None:
        return Feedback(outcome.json_text)
    if level is Level.MINIMAL:
        return Feedback("The call failed.", code)
    if isinstance(verdict, Rejected):
        return Feedback(_rejection(name, verdict), code)
    if outcome is None:
        raise ValueError(f"a valid call of {name} has no outcome: run it before rendering")
    return Feedback(_failure(name, outcome), code)


def error_code(verdict: Call | Rejected, outcome: Outcome | None) -> ErrorCode | None:
    """The call's error code, None for success."""
    if isinstance(verdict, Rejected):
        return verdict.code
    if isinstance(outcome, Returned):
        value = json.loads(outcome.json_text)
        return ErrorCode.RETURNED_ERROR if tells_of_error(value) else None
    return _CODE_BY_KIND[outcome.kind] if outcome is not None else None


_ERROR_KEYS = ("error", "errors", "error_message", "exception")
_ERROR_TEXT = re.compile(
    r"\s*(an?\s+)?(\w+\s+)?(error|exception|traceback)\s*"
    r"($|[:.!(\[-]|occur|when|while|during|in\b|processing\b)",
    re.IGNORECASE,
)


def tells_of_error(value: JSON) -> bool:
    """Whether a returned value says that the tool failed.

    Tools report failure in band: of the errors that ToolHop's tools return, nearly all are an
    object with the key `error`, or a text that begins with "Error". Counted as such: an object
    whose `error`, `errors`, `error_message` or `exception` is set, or that says `"success":
    false` or `"status": "error"`; a text that opens like a report of an error ("Error: ...",
    "An unexpected error occurred ..."); and either of these alone in a list. A text such as
    "no match" is a result.
    """
    if isinstance(value, list) and len(value) == 1:
        return tells_of_error(value[0])
    if isinstance(value, str):
        return _ERROR_TEXT.match(value) is not None
    if isinstance(value, dict):
        if any(value.get(key) for key in _ERROR_KEYS):
            return True
        status = value.get("status")
        failed = isinstance(status, str) and status.casefold() in {"error", "failed", "failure"}
        return failed or value.get("success") is False
    return False


def _rejection(name: str, rejected: Rejected) -> str:
    lines = [_sentence(name, problem) for problem in rejected.problems[:5]]
    left = len(rejected.problems) - 5
    if left > 0:
        lines.append(f"And {left} more problems.")
    return f"The call was not run. {' '.join(lines)}"


def _sentence(name: str, problem: Problem) -> str:
    path, given, allowed = problem.path, problem.given, problem.allowed
    match problem.code:
        case ErrorCode.NOT_JSON:
            return f"The arguments are not JSON: {given}. Give {allowed}."
        case ErrorCode.NOT_OBJECT:
            return f"The arguments must be a JSON object, but are {given}."
        case ErrorCode.UNKNOWN_TOOL:
            return f"There is no tool {given}. The tools are: {allowed}."
        case ErrorCode.MISSING_ARGUMENT:
            return f"{name} needs the argument `{path}`, which is missing."
        case ErrorCode.UNEXPECTED_ARGUMENT:
            return f"{name} takes no argument `{path}` (given: {given}); {allowed}."
        case ErrorCode.WRONG_TYPE:
            return f"The argument `{path}` must be of type {allowed}, but is {given}."
        case ErrorCode.NOT_IN_ENUM:
            return f"The argument `{path}` must be {allowed}, but is {given}."
        case _:
            where = f"The argument `{path}`" if path else "The arguments"
            return f"{where}, given as {given}, must satisfy: {allowed}."


def _failure(name: str, outcome: Outcome) -> str:
    """What came of running the tool, in full."""
    match outcome:
        case Returned(json_text):
            return json_text
        case Raised(error, message):
            return f"{name} failed with {error}: {message}" if message else f"{name}: {error}"
        case TimedOut(limit_s):
            return f"{name} gave no result within {limit_s:g} seconds and was stopped."
        case OutOfMemory(limit_mib):
            return f"{name} needed more than {limit_mib} MiB of memory and was stopped."
        case Refused(reason):
            return f"{name} cannot be run here: {reason}"
        case TooLarge(size_bytes, limit_bytes):
            return f"The result of {name} has {size_bytes:,} bytes; at most {limit_bytes:,} fit."
        case NotJson(reason):
            return f"{name} returned something that is no JSON value: {reason}"
        case Died(reason):
            return f"{name} ended without a result: {reason}"
        case _:
            assert_never(outcome)
