"""Feedback: the text that an agent reads about its call. All verbosity rules are here.

ToolHop's ablation (paper table 5) compares feedback that says what went wrong with feedback that
only says that something did. The texts here are ours; success reads the same at every level.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import assert_never

from toolhop_env.levels import MINIMAL_TEXT, Level, Template, Verbosity, opening, partial_text
from toolhop_env.verdicts import Call, ErrorCode, Problem, Rejected
from toolhop_sandbox.outcome import (
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
from toolhop_tools.failures import NATURES, reported, result_value, tells_of_error

__all__ = [
    "MINIMAL_TEXT",
    "Feedback",
    "Level",
    "Template",
    "Verbosity",
    "error_code",
    "problems_text",
    "render",
    "result_value",
]


@dataclass(frozen=True, slots=True)
class Feedback:
    """The text shown to the agent, and the error if the call failed."""

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


def render(
    level: Verbosity, name: str, verdict: Call | Rejected, outcome: Outcome | None
) -> Feedback:
    """Render the feedback to a call of `name`; `outcome` is None exactly if the call was rejected.

    A template that yields an empty text is replaced by minimal feedback, as providers reject empty
    messages.
    """
    code = error_code(verdict, outcome)
    if isinstance(verdict, Rejected):
        text = _rejection(name, verdict)
    elif outcome is None:
        raise ValueError(f"a valid call of {name} has no outcome: run it before rendering")
    else:
        text = _failure(name, outcome)
    if code is None or level is Level.DETAILED:
        return Feedback(text, code)
    values = _values(code, name, verdict, text, outcome)
    if isinstance(level, Template):
        filled = level.fill(values, rejected=isinstance(verdict, Rejected))
        return Feedback(filled or MINIMAL_TEXT, code)
    return Feedback(partial_text(level, values), code)


def _values(
    code: ErrorCode, name: str, verdict: Call | Rejected, text: str, outcome: Outcome | None
) -> dict[str, str]:
    """Return the values of `levels.PLACES` for a template; `text` is the detailed feedback."""
    values = {"code": code.value, "tool": name, "detailed": text, "opening": opening(text)}
    if isinstance(verdict, Call):
        empty = dict.fromkeys(("problems", "problem", "given", "suggestion"), "")
        return {**values, **empty, **_of_tool(code, outcome), "message": text}
    first, fixed = verdict.problems[0], verdict.repair
    call = {"name": fixed.tool, "arguments": fixed.arguments} if fixed else None
    return {
        **values,
        "fault": code.value,
        "problems": problems_text(name, verdict),
        "problem": _sentence(name, first),
        "path": first.path,
        "given": first.given,
        "allowed": first.allowed,
        "suggestion": json.dumps(call, ensure_ascii=False) if call else "",
        "message": "",
    }


def _of_tool(code: ErrorCode, outcome: Outcome | None) -> dict[str, str]:
    """Return what structured data tells of a tool's own failure."""
    told = reported(result_value(outcome) if isinstance(outcome, Returned) else None)
    kind = outcome.error if isinstance(outcome, Raised) else told["type"]
    nature = NATURES.get(kind) or NATURES.get(code)
    return {**told, "fault": ", ".join(part for part in (code.value, kind, nature) if part)}


def error_code(verdict: Call | Rejected, outcome: Outcome | None) -> ErrorCode | None:
    """Return the call's error code; None if it succeeded."""
    if isinstance(verdict, Rejected):
        return verdict.code
    if isinstance(outcome, Returned):
        return ErrorCode.RETURNED_ERROR if _tells_of_error(outcome) else None
    return _CODE_BY_KIND[outcome.kind] if outcome is not None else None


REPORT_CHARS = 65_536
"""Maximum length of a result that is checked for a reported error, in characters. Checking
longer ones would delay other episodes, by up to 0.2 s at 1 MB."""


def _tells_of_error(outcome: Returned) -> bool:
    return len(outcome.json_text) <= REPORT_CHARS and tells_of_error(result_value(outcome))


def _rejection(name: str, rejected: Rejected) -> str:
    return f"The call was not run. {problems_text(name, rejected)}"


def problems_text(name: str, rejected: Rejected) -> str:
    """Describe in sentences what is wrong with a call that was not run."""
    lines = [_sentence(name, problem) for problem in rejected.problems[:5]]
    left = len(rejected.problems) - 5
    if left > 0:
        lines.append(f"And {left} more.")
    return " ".join(lines)


def _sentence(name: str, problem: Problem) -> str:
    """Describe one problem. Name the argument: repairing agents look for it in the feedback."""
    path, given, allowed = problem.path, problem.given, problem.allowed
    match problem.code:
        case ErrorCode.MALFORMED_CALL:
            return f"Your call could not be read: it is written as {given}. {allowed}"
        case ErrorCode.NOT_APPROVED:
            return f"It was not approved: {given}" if given else "It was not approved."
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
        case ErrorCode.SCHEMA_VIOLATION:
            return f"{_where(path)}, given as {given}, must satisfy: {allowed}."
        case _:
            raise ValueError(f"{problem.code} is no code of a call that was not run")


def _where(path: str) -> str:
    return f"The argument `{path}`" if path else "The arguments"


def _is(path: str) -> str:
    return "is" if path else "are"


def _failure(name: str, outcome: Outcome) -> str:
    """Describe the outcome of running the tool, in full."""
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
