"""Descriptions of outcomes, and command lines that reproduce a counter-example."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import assert_never

from toolhop_sandbox.base import Limits
from toolhop_sandbox.outcome import (
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
from toolhop_tools.properties.model import CounterExample, Subject

SHOWN_CHARS = 160


def cut(text: str, most: int = SHOWN_CHARS) -> str:
    """Return a text on one line, cut to a readable length."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def shown(value: JSON) -> str:
    """Return a value as JSON, cut to a readable length."""
    return cut(json.dumps(value, ensure_ascii=False))


def kind_of(outcome: Outcome) -> str:
    """Return the class of an outcome."""
    return _told(outcome)[0]


def reported(outcome: Outcome) -> str:
    """Describe an outcome in words."""
    return _told(outcome)[1]


def _told(outcome: Outcome) -> tuple[str, str]:
    match outcome:
        case Returned(json_text):
            return "returns", f"returns {cut(json_text)}"
        case Raised(error, message, line):
            # A tool may give its exceptions any name; a failure class must be short.
            kind = f"raises {re.sub(r'[^A-Za-z0-9_.]', '?', error)[:60]}"
            said = f"{error}: {cut(message)}" if message else error
            return kind, f"raises {said} (line {line})" if line else f"raises {said}"
        case TimedOut(limit_s):
            return "no result in time", f"gives no result within {limit_s:g} s"
        case OutOfMemory(limit_mib):
            return "out of memory", f"needs more than {limit_mib} MiB"
        case Refused(reason):
            return "refused by the policy", f"is refused by the policy: {cut(reason)}"
        case TooLarge(size_bytes, limit_bytes):
            size = f"returns {size_bytes:,} bytes of JSON; at most {limit_bytes:,} fit"
            return "result too large", size
        case NotJson(reason):
            return _no_json(reason), f"returns what is no JSON: {cut(reason)}"
        case Died(reason):
            return "ends the process", f"ends without a result: {cut(reason)}"
        case _:
            assert_never(outcome)


def _no_json(reason: str) -> str:
    """Return the class of a value that JSON cannot hold, from the message of Python's encoder."""
    if found := re.search(r"Object of type (\w+)", reason):
        return f"returns {found[1]}"
    if "Out of range float" in reason:
        return "returns NaN or Infinity"
    if "keys must be" in reason:
        return "returns keys that are no text"
    if "Circular" in reason:
        return "returns a value that holds itself"
    return "returns no JSON"


USUAL = Limits(wall_s=2.0)
"""Default limits of ``toolhop call``."""


def command_lines(
    found: CounterExample, subject: Subject, data: str, *, limits: Limits, sandbox: str = "auto"
) -> Iterator[str]:
    """Yield a command line for each setting that matters; none if the failure needs no call."""
    if found.arguments is None:
        return
    head = ["toolhop", "call", "--data", data, subject.id]
    if found.property in ("bad-input", "gold-call", "examples"):
        head.append("--as-model")
    if found.property == "arguments-kept":
        head.append("--after")
    if sandbox != "auto":
        head += ["--sandbox", sandbox]
    if limits.wall_s != USUAL.wall_s:
        head += ["--tool-timeout", f"{limits.wall_s:g}"]
    if limits.memory_mib != USUAL.memory_mib:
        head += ["--tool-memory", str(limits.memory_mib)]
    sets = [json.dumps(dict(one)) for one in (*found.earlier, found.arguments)]
    if found.property == "independent":
        yield shlex.join([*head, sets[-1]])
        yield shlex.join([*head, *sets])
        return
    for setting in found.settings:
        yield shlex.join(head) + setting.flags + f" {shlex.quote(sets[-1])}"
