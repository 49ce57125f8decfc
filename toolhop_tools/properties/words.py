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
    match outcome:
        case Returned():
            return "returns"
        case Raised(error):
            # A tool may name its exceptions as it likes; a class is a word or two.
            return f"raises {re.sub(r'[^A-Za-z0-9_.]', '?', error)[:60]}"
        case TimedOut():
            return "no result in time"
        case OutOfMemory():
            return "out of memory"
        case Refused():
            return "refused by the policy"
        case TooLarge():
            return "result too large"
        case NotJson(reason):
            return _no_json(reason)
        case Died():
            return "ends the process"
        case _:
            assert_never(outcome)


def reported(outcome: Outcome) -> str:
    """What happened."""
    match outcome:
        case Returned(json_text):
            return f"returns {cut(json_text)}"
        case Raised(error, message, line):
            place = f" (line {line})" if line else ""
            return f"raises {error}: {cut(message)}{place}" if message else f"raises {error}{place}"
        case TimedOut(limit_s):
            return f"gives no result within {limit_s:g} s"
        case OutOfMemory(limit_mib):
            return f"needs more than {limit_mib} MiB"
        case Refused(reason):
            return f"is refused by the policy: {cut(reason)}"
        case TooLarge(size_bytes, limit_bytes):
            return f"returns {size_bytes:,} bytes of JSON; at most {limit_bytes:,} fit"
        case NotJson(reason):
            return f"returns what is no JSON: {cut(reason)}"
        case Died(reason):
            return f"ends without a result: {cut(reason)}"
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
