"""Many calls of one tool in one process, where a process a call would take too long.

A driver is appended to the tool's source, whose lines keep their numbers, and called with a list
of argument sets. It runs one after another, looks whether each changed its arguments, and gives
back what each did. The policy accepts it, so that a batch runs under the same rules as a call.

What the calls of a batch share is that process: the tool's module level has run once. What is
shared between batches is nothing. So a batch finds what is worth a look; a call of its own decides.
A tool can forge the report of its own batch, and no other's; `Batches` makes some of the calls
again alone, and believes no batch of a tool of which one disagrees.
"""

from __future__ import annotations

import json
import keyword
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sandbox.base import Program
from sandbox.outcome import JSON, Died, NotJson, Outcome, OutOfMemory, Raised, Returned, TimedOut
from toolhop_tools.properties.model import Arguments, Caller, Setting

BATCH = 64
"""Argument sets a batch at most."""
BATCH_CHARS = 200_000
"""Length of results after which a batch ends early; a longer single result is no entry at all."""
BATCH_S = 0.5
"""Seconds after which a batch ends early; the rest is another batch."""
PARTS = 6
"""Pieces that a batch that was cut off is broken into."""
MOST_CUT = 3
"""Calls of their own that may be cut off (time, memory, death) before the rest is given up."""
MESSAGE_CHARS = 4000

_DRIVER = """

def {driver}(sets, most_chars, most_s):
    import json
    import time
    {function}
    found, size, start = [], 0, time.monotonic()
    for arguments in sets:
        before = json.dumps(arguments)
        try:
            value = {function}(**arguments)
        except BaseException as error:
            try:
                text = str(error)[:{chars}]
            except BaseException:
                text = "(the exception's text cannot be made)"
            entry = ["raised", type(error).__name__, text]
        else:
            try:
                text = json.dumps(value, ensure_ascii=False, allow_nan=False)
                entry = ["returned", text, ""]
            except BaseException as error:
                entry = ["not_json", "", str(error)[:{chars}]]
        try:
            kept = json.dumps(arguments) == before
        except BaseException:
            kept = False
        size += len(entry[1]) + len(entry[2])
        if len(entry[1]) > most_chars:
            entry = ["long", "", ""]
        found.append([*entry, kept])
        if size > most_chars or time.monotonic() - start > most_s:
            break
    return found
"""

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


@dataclass(frozen=True, slots=True)
class Run:
    """What came of one argument set."""

    outcome: Outcome
    kept: bool | None = None
    """Whether the arguments were as before; None where nobody could look."""
    alone: bool = False
    """Whether it was a call of its own."""


def with_driver(program: Program, template: str) -> Program | None:
    """The program with a driver as its function; None where the function's name is no name."""
    return _with_driver(program, template)


@lru_cache(maxsize=64)
def _with_driver(program: Program, template: str) -> Program | None:
    if not program.function.isidentifier() or keyword.iskeyword(program.function):
        return None
    name = "run_argument_sets"
    while name in program.source or name == program.function:
        name += "_"
    # Not str.format on the source: it may hold braces.
    code = template.format(driver=name, function=program.function, chars=MESSAGE_CHARS)
    return Program(program.source + code, name)


def load(call: Caller, setting: Setting, program: Program) -> Outcome | None:
    """How running the module level and looking the function up failed; None if it did not."""
    driver = with_driver(program, _DRIVER)
    if driver is None:
        return Raised("NameError", f"{program.function!r} is no name of a function")
    empty: dict[str, JSON] = {"sets": [], "most_chars": 0, "most_s": 0}
    outcome = call(setting, driver, empty)
    return None if isinstance(outcome, Returned) else outcome


def sequence(
    program: Program, calls: Sequence[Arguments], *, after: bool = False
) -> tuple[Program, Arguments]:
    """What to call so that `calls` are made in one process, and the last one's outcome is told.

    Args:
        program: the tool's.
        calls: at least one.
        after: tell the last one's arguments, as it leaves them, in place of its outcome.
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
    call: Caller, setting: Setting, program: Program, sets: Sequence[Arguments]
) -> list[Run | None]:
    """Each set as a call of its own; None from where too many were cut off."""
    found: list[Run | None] = []
    cut = 0
    for arguments in sets:
        if cut >= MOST_CUT:
            found.append(None)
            continue
        outcome = call(setting, program, arguments)
        cut += isinstance(outcome, TimedOut | OutOfMemory | Died)
        found.append(Run(outcome, alone=True))
    return found


def run_batched(
    call: Caller, setting: Setting, program: Program, sets: Sequence[Arguments]
) -> list[Run | None]:
    """What each set gives, in order, in as few processes as can be.

    A batch that is cut off or makes no sense is broken up until the set that does it is alone;
    that one is an ordinary call. None for what was not run because too many were cut off.
    """
    driver = with_driver(program, _DRIVER)
    if driver is None:
        return run_alone(call, setting, program, sets)
    found: list[Run | None] = [None] * len(sets)
    waiting = deque((at, min(at + BATCH, len(sets))) for at in range(0, len(sets), BATCH))
    cut = 0
    while waiting and cut < MOST_CUT:
        first, end = waiting.popleft()
        runs = None if end - first == 1 else _one_batch(call, setting, driver, sets[first:end])
        if end - first == 1:
            outcome = call(setting, program, sets[first])
            cut += isinstance(outcome, TimedOut | OutOfMemory | Died)
            found[first] = Run(outcome, alone=True)
        elif runs is None:
            step = max(1, (end - first) // PARTS)
            pieces = [(at, min(at + step, end)) for at in range(first, end, step)]
            waiting.extendleft(reversed(pieces))
        else:
            found[first : first + len(runs)] = runs
            if first + len(runs) < end:
                waiting.appendleft((first + len(runs), end))
            # Too long for a report: a call of its own has room for it.
            waiting.extend((first + at, first + at + 1) for at, r in enumerate(runs) if r is None)
    return found


def _one_batch(
    call: Caller, setting: Setting, driver: Program, sets: Sequence[Arguments]
) -> list[Run | None] | None:
    given: list[JSON] = [dict(arguments) for arguments in sets]
    request: dict[str, JSON] = {"sets": given, "most_chars": BATCH_CHARS, "most_s": BATCH_S}
    outcome = call(setting, driver, request)
    return _read(outcome.json_text, len(sets)) if isinstance(outcome, Returned) else None


def _read(text: str, most: int) -> list[Run | None] | None:
    """The driver's report; None where it is none, as after a tool's mischief."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entries, list) or not 0 < len(entries) <= most:
        return None
    found: list[Run | None] = []
    for entry in entries:
        match entry:
            case ["returned", str(value), _, bool(kept)]:
                # Half a pair has two forms in JSON; a call of its own gives this one.
                text = value.encode("utf-8", "backslashreplace").decode()
                found.append(Run(Returned(text), kept))
            case ["raised", str(error), str(message), bool(kept)]:
                found.append(Run(Raised(error, message), kept))
            case ["not_json", _, str(reason), bool(kept)]:
                found.append(Run(NotJson(reason), kept))
            case ["long", _, _, bool()]:
                found.append(None)
            case _:
                return None
    return found


def fact(outcome: Outcome) -> tuple[str, str]:
    """What is compared of an outcome: not its line, which a batch does not know."""
    match outcome:
        case Returned(json_text):
            return "returned", json_text
        case Raised(error, message):
            return "raised", f"{error}: {message}"
        case _:
            return outcome.kind, ""
