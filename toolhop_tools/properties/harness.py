"""Calls by which properties are judged: in batches, alone, and one after another."""

from __future__ import annotations

from collections.abc import Sequence

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned
from toolhop_tools.batch import (
    Arguments,
    CallRun,
    Calls,
    in_batches,
    load_call,
    one_by_one,
    with_driver,
)
from toolhop_tools.properties.model import Caller, SandboxSetting

_AFTER = """

def {driver}(arguments):
    try:
        {function}(**arguments)
    except Exception:
        pass
    return arguments
"""

_SEQUENCE = """

def {driver}(earlier, last):
    for arguments in earlier:
        try:
            {function}(**arguments)
        except Exception:
            pass
    return {function}(**last)
"""


def load(call: Caller, setting: SandboxSetting, program: Program) -> Outcome | None:
    """Run the module level and look up the function; return the outcome if that fails, or None."""
    step = load_call(program)
    if step is None:
        return Raised("NameError", f"{program.function!r} is no name of a function")
    outcome = call(setting, *step)
    return None if isinstance(outcome, Returned) else outcome


def sequence(
    program: Program, calls: Sequence[Arguments], *, after: bool = False
) -> tuple[Program, Arguments]:
    """Return a program and arguments that make `calls` in one process and report the last outcome.

    Args:
        program: the tool's program.
        calls: at least one call.
        after: report the last call's arguments, as it leaves them, instead of its outcome.
    """
    *earlier, last = calls
    if not earlier and not after:
        return program, last
    driver = with_driver(program, _AFTER if after else _SEQUENCE)
    if driver is None:
        return program, last
    if after:
        return driver, {"arguments": dict(last)}
    before: list[JSON] = [dict(arguments) for arguments in earlier]
    return driver, {"earlier": before, "last": dict(last)}


def run_alone(
    call: Caller, setting: SandboxSetting, program: Program, sets: Sequence[Arguments]
) -> list[CallRun | None]:
    """Run each argument set alone; None for sets skipped after too many were cut off."""
    return _made(call, setting, one_by_one(program, sets))


def run_batched(
    call: Caller, setting: SandboxSetting, program: Program, sets: Sequence[Arguments]
) -> list[CallRun | None]:
    """Run argument sets in batches; None for sets skipped after too many were cut off."""
    return _made(call, setting, in_batches(program, sets))


def _made(call: Caller, setting: SandboxSetting, calls: Calls) -> list[CallRun | None]:
    outcome: Outcome | None = None
    while True:
        try:
            step = next(calls) if outcome is None else calls.send(outcome)
        except StopIteration as done:
            return list(done.value)
        outcome = call(setting, *step)


def fact(outcome: Outcome) -> tuple[str, str]:
    """Return the comparable part of an outcome, without the line, which batches do not know."""
    match outcome:
        case Returned(json_text):
            return "returned", json_text
        case Raised(error, message):
            return "raised", f"{error}: {message}"
        case _:
            return outcome.kind, ""
