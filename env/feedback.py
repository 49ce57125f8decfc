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


MINIMAL_TEXT = "The call failed."
"""All that minimal feedback says, whatever failed."""

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
    if isinstance(verdict, Rejected):
        text = _rejection(name, verdict)
    elif outcome is None:
        raise ValueError(f"a valid call of {name} has no outcome: run it before rendering")
    else:
        text = _failure(name, outcome)
    return Feedback(text if code is None or level is Level.DETAILED else MINIMAL_TEXT, code)


def error_code(verdict: Call | Rejected, outcome: Outcome | None) -> ErrorCode | None:
    """The call's error code, None for success."""
    if isinstance(verdict, Rejected):
        return verdict.code
    if isinstance(outcome, Returned):
        return ErrorCode.RETURNED_ERROR if tells_of_error(result_value(outcome)) else None
    return _CODE_BY_KIND[outcome.kind] if outcome is not None else None


def result_value(outcome: Returned) -> JSON:
    """What a tool returned; None for what is nested too deeply to be looked into."""
    try:
        value: JSON = json.loads(outcome.json_text)
    except RecursionError:
        return None
    return value


_NO_ERROR = frozenset({"", "none", "null", "no", "no error", "n/a", "ok"})
OPENING_CHARS = 400
"""Characters of a text that are looked at for the report of an error."""
_NUMBER_ONLY = r"[-+±]?\s*[\d.,]+\s*%?\s*$"
_ERROR_TEXT = re.compile(
    rf"""(?:
    \[error\]
  | (?:error|exception)\s*(?:$ | [:!](?!\s*{_NUMBER_ONLY}) | -\s)
  | (?:invalid|internal|unexpected|unknown|runtime|fatal|critical|value|type|key|index|name|syntax
      |input|parameter|argument|validation|pars(?:e|ing)|server|network|connection|database
      |conversion|division|calculation)\s+(?:\w+\s+)?(?:error|exception)\s*(?:$ | :)
  | (?:an?\s+(?:\w+\s+){{0,2}} | (?:unexpected|unknown|internal|some)\s+)?
      (?:error|exception)\s+(?:has\s+)?occur
  | (?:error|exception)\s+(?:while|when|during)\b
  | (?:error|exception)\s+(?:in|at|on|with|from|(?!handling|correcting|checking)\w+ing)\b
      [^:]{{0,80}}:
  | traceback\s+\(most\ recent
  | (?-i:(?:\w+\.)*[A-Z]\w*(?:Error|Exception))\s*(?:$ | [:(])
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def tells_of_error(value: JSON) -> bool:
    """Whether a returned value says that the tool failed.

    Tools report failure in band: of the 253 tools in 60 items of ToolHop, those that report one
    return an object with a text under `error`, or a text that begins with "Error:". Counted are

    - a text that opens like a report of an error: "Error: ...", "ValueError: ...", "An
      unexpected error occurred", "Error while reading ...";
    - an object that has a text, an object, a list or `true` under `error`, `error_message` or
      `exception`, or has `"success": false` or `"status": "error"`;
    - an object with something under `errors` and no other result beside it;
    - any of these alone in a list.

    A number is none: `{"error": 0.5}` and "Error: 0.5" are results of a measurement. Nor is a text
    that is about errors ("Error analysis"), one that reports nothing found, or `"status":
    "failed"`, which may be what was asked for, as of a mission.
    """
    if isinstance(value, list) and len(value) == 1:
        return tells_of_error(value[0])
    if isinstance(value, str):
        return _ERROR_TEXT.match(value.lstrip()[:OPENING_CHARS]) is not None
    if isinstance(value, dict):
        if any(_is_report(value.get(key)) for key in ("error", "error_message", "exception")):
            return True
        if _is_report(value.get("errors")):
            return not any(part for key, part in value.items() if key != "errors")
        status = value.get("status")
        failed = isinstance(status, str) and status.casefold() == "error"
        return failed or value.get("success") is False
    return False


def _is_report(value: JSON) -> bool:
    if isinstance(value, str):
        return value.strip().casefold() not in _NO_ERROR
    return value is True or (isinstance(value, list | dict) and bool(value))


def _rejection(name: str, rejected: Rejected) -> str:
    lines = [_sentence(name, problem) for problem in rejected.problems[:5]]
    left = len(rejected.problems) - 5
    if left > 0:
        lines.append(f"And {left} more.")
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
            return f"{_where(path)} must be of type {allowed}, but {_is(path)} {given}."
        case ErrorCode.NOT_IN_ENUM:
            return f"{_where(path)} must be {allowed}, but {_is(path)} {given}."
        case _:
            return f"{_where(path)}, given as {given}, must satisfy: {allowed}."


def _where(path: str) -> str:
    return f"The argument `{path}`" if path else "The arguments"


def _is(path: str) -> str:
    return "is" if path else "are"


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
