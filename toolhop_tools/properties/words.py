"""Outcomes in words, for the report."""

from __future__ import annotations

import json
import re
from typing import assert_never

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

SHOWN_CHARS = 160


def cut(text: str, most: int = SHOWN_CHARS) -> str:
    """A text on one line, cut for reading."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def shown(value: JSON) -> str:
    """A JSON value, cut for reading."""
    return cut(json.dumps(value, ensure_ascii=False))


def kind_of(outcome: Outcome) -> str:
    """The class of an outcome."""
    return _told(outcome)[0]


def reported(outcome: Outcome) -> str:
    """What happened."""
    return _told(outcome)[1]


def _told(outcome: Outcome) -> tuple[str, str]:
    """Both."""
    match outcome:
        case Returned(json_text):
            return "returns", f"returns {cut(json_text)}"
        case Raised(error, message, line):
            # A tool may name its exceptions as it likes; a class is a word or two.
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
    """The class of a value that JSON cannot hold, from the words of Python's encoder."""
    if found := re.search(r"Object of type (\w+)", reason):
        return f"returns {found[1]}"
    if "Out of range float" in reason:
        return "returns NaN or Infinity"
    if "keys must be" in reason:
        return "returns keys that are no text"
    if "Circular" in reason:
        return "returns a value that holds itself"
    return "returns no JSON"
