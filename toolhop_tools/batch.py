"""Run many calls of one program in one sandboxed process, to save a process per call.

A driver is appended to the program's source, so line numbers do not change, and is called with a
list of argument sets. It makes the calls in order, checks whether each changed its arguments, and
returns all outcomes. The driver passes the policy, so a batch runs under the same rules as a single
call.

The calls of a batch share a process: the module level runs once, and a tool that keeps state or
breaks its own module may answer differently than in a separate call. Batches share nothing. A
tool can forge only the report of its own batch. A batch therefore only shows which calls to check;
a separate call decides.
"""

from __future__ import annotations

import json
import keyword
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from toolhop_sandbox.base import Program, Session
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
)

BATCH = 64
"""Argument sets per batch: a process costs about 3 ms, a typical call about 10 µs."""
BATCH_CHARS = 200_000
"""Length of results after which a batch ends early; a longer single result is not reported."""
BATCH_S = 0.25
"""Seconds after which a batch ends early; the remaining sets go into another batch."""
PARTS = 8
"""Pieces into which an interrupted batch is split: three splits of 64 sets isolate one set."""
MOST_CUT = 3
"""Number of separate calls that may be cut off (time, memory, death) before giving up."""
MESSAGE_CHARS = 4000

Arguments: TypeAlias = Mapping[str, JSON]

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


@dataclass(frozen=True, slots=True)
class CallRun:
    """Result of a call with one argument set.

    In a batch, `Raised` has no line, and a call that requests too much memory at once raises
    `MemoryError`.
    """

    outcome: Outcome
    kept: bool | None = None
    """Whether the call left its arguments unchanged; None if this was not checked."""
    alone: bool = False
    """Whether the call had a process of its own."""


Calls: TypeAlias = Generator[tuple[Program, Arguments], Outcome, list[CallRun | None]]
"""Generator that yields calls, receives their outcomes and returns the results.

A result is None if the call was not made because too many earlier ones were cut off.
"""


async def run_batch(
    session: Session, program: Program, sets: Sequence[Arguments], *, most_cut: int = MOST_CUT
) -> list[CallRun | None]:
    """Run `in_batches` in a session.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    calls = in_batches(program, sets, most_cut=most_cut)
    outcome: Outcome | None = None
    while True:
        try:
            step = next(calls) if outcome is None else calls.send(outcome)
        except StopIteration as done:
            return list(done.value)
        outcome = await session.call(*step)


def in_batches(program: Program, sets: Sequence[Arguments], *, most_cut: int = MOST_CUT) -> Calls:
    """Run all argument sets in as few processes as possible; results in the order of `sets`.

    A batch that is cut off or returns a malformed report is split until the offending set is alone;
    that set gets an ordinary call. After `most_cut` such calls were cut off, the rest is skipped.
    """
    driver = with_driver(program, _DRIVER)
    if driver is None:
        return (yield from one_by_one(program, sets, most_cut=most_cut))
    found: list[CallRun | None] = [None] * len(sets)
    waiting = deque((at, min(at + BATCH, len(sets))) for at in range(0, len(sets), BATCH))
    cut = 0
    while waiting and cut < most_cut:
        first, end = waiting.popleft()
        outcome = None if end - first == 1 else (yield driver, _request(sets[first:end]))
        runs = _read(outcome.json_text, end - first) if isinstance(outcome, Returned) else None
        if runs is not None:
            found[first : first + len(runs)] = runs
            if first + len(runs) < end:
                waiting.appendleft((first + len(runs), end))
            # Results too long for a report fit into a separate call.
            waiting.extend((first + at, first + at + 1) for at, r in enumerate(runs) if r is None)
        elif outcome is None or isinstance(outcome, Raised | Refused):
            alone = yield program, sets[first]
            found[first] = CallRun(alone, alone=True)
            cut += _cut(alone)
            if outcome == alone:
                # The compiler or the module level raises, so every call fails alike.
                found[first + 1 : end] = [CallRun(alone)] * (end - first - 1)
            else:
                # The tool breaks its driver.
                waiting.extendleft((at, at + 1) for at in range(end - 1, first, -1))
        else:
            waiting.extendleft(_pieces(first, end))
    return found


def one_by_one(program: Program, sets: Sequence[Arguments], *, most_cut: int = MOST_CUT) -> Calls:
    """Run each set as a separate call."""
    found: list[CallRun | None] = [None] * len(sets)
    cut = 0
    for at, arguments in enumerate(sets):
        if cut < most_cut:
            outcome = yield program, arguments
            found[at] = CallRun(outcome, alone=True)
            cut += _cut(outcome)
    return found


@lru_cache(maxsize=256)
def with_driver(program: Program, template: str) -> Program | None:
    """Return the program with a driver as its function; None if the function's name is not valid.

    Args:
        program: the program to drive.
        template: source of a function ``{driver}`` that calls ``{function}``; ``{chars}`` is the
            length at which messages are cut.
    """
    if not program.function.isidentifier() or keyword.iskeyword(program.function):
        return None
    name = "run_argument_sets"
    while name in program.source or name == program.function:
        name += "_"
    # Not str.format on the source: it may hold braces.
    code = template.format(driver=name, function=program.function, chars=MESSAGE_CHARS)
    return Program(program.source + code, name)


def load_call(program: Program) -> tuple[Program, Arguments] | None:
    """Return a call that only runs the module level and looks up the function."""
    driver = with_driver(program, _DRIVER)
    return None if driver is None else (driver, _request([]))


def _request(sets: Sequence[Arguments]) -> Arguments:
    given: list[JSON] = [dict(arguments) for arguments in sets]
    return {"sets": given, "most_chars": BATCH_CHARS, "most_s": BATCH_S}


def _pieces(first: int, end: int) -> list[tuple[int, int]]:
    """Split the range into pieces, in reverse order for `deque.extendleft`."""
    step = max(1, (end - first) // PARTS)
    return [(at, min(at + step, end)) for at in range(first, end, step)][::-1]


def _cut(outcome: Outcome) -> bool:
    return isinstance(outcome, TimedOut | OutOfMemory | Died)


def _read(text: str, most: int) -> list[CallRun | None] | None:
    """Parse the driver's report; None if it is malformed, for example forged by the tool."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entries, list) or not 0 < len(entries) <= most:
        return None
    found: list[CallRun | None] = []
    for entry in entries:
        match entry:
            case ["returned", str(value), _, bool(kept)]:
                found.append(CallRun(Returned(_utf8(value)), kept))
            case ["raised", str(error), str(message), bool(kept)]:
                found.append(CallRun(Raised(_utf8(error), _utf8(message)), kept))
            case ["not_json", _, str(reason), bool(kept)]:
                found.append(CallRun(NotJson(_utf8(reason)), kept))
            case ["long", _, _, bool()]:
                found.append(None)
            case _:
                return None
    return found


def _utf8(text: str) -> str:
    """Replace lone surrogates by the escapes that the worker writes for a single call."""
    return text.encode("utf-8", "backslashreplace").decode()
