"""Many calls of one program in one sandboxed process, where a process a call would take too long.

A driver is appended to the program's source, whose lines keep their numbers, and called with a list
of argument sets. It runs one after another, looks whether each changed its arguments, and gives
back what each did. The policy accepts it, so that a batch runs under the same rules as a call.

What the calls of one batch share is that process: the module level has run once, and a tool that
keeps state, or breaks its own module, may answer otherwise than alone. Nothing is shared between
batches. A tool can forge the report of its own batch, and no other's. So a batch finds what is
worth a look, and a call of its own decides.
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
"""Argument sets a batch: a process costs some 3 ms, a call of a usual tool some 10 µs."""
BATCH_CHARS = 200_000
"""Length of results after which a batch ends early; a longer single one is not an entry at all."""
BATCH_S = 0.25
"""Seconds after which a batch ends early; the rest is another batch."""
PARTS = 8
"""Pieces that a batch that was cut off is broken into: 64 sets need three cuts to find the one."""
MOST_CUT = 3
"""Calls of their own that may be cut off (time, memory, death) before the rest is given up."""
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
    """What came of one argument set.

    Within a batch `Raised` has no line, and a call that asks for too much memory at once raises
    `MemoryError`.
    """

    outcome: Outcome
    kept: bool | None = None
    """Whether the arguments were as before; None where nobody could look."""
    alone: bool = False
    """Whether it was a call of its own."""


Calls: TypeAlias = Generator[tuple[Program, Arguments], Outcome, list[CallRun | None]]
"""Calls to be made, one after another, each answered by its outcome; what they tell in the end.

A run is None where it was not made, because too many before it were cut off.
"""


async def run_batch(
    session: Session, program: Program, sets: Sequence[Arguments], *, most_cut: int = MOST_CUT
) -> list[CallRun | None]:
    """Make the calls of `in_batches` in a session.

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
    """What each set gives, in order, in as few processes as can be.

    A batch that is cut off or makes no sense is broken up until the set that does it is alone;
    that one is an ordinary call. Once `most_cut` of these were cut off, the rest is given up.
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
            # Too long for a report: a call of its own has room for it.
            waiting.extend((first + at, first + at + 1) for at, r in enumerate(runs) if r is None)
        elif outcome is None or isinstance(outcome, Raised | Refused):
            alone = yield program, sets[first]
            found[first] = CallRun(alone, alone=True)
            cut += _cut(alone)
            if outcome == alone:
                # The module level raises, or the compiler: before any call, whatever the call.
                found[first + 1 : end] = [CallRun(alone)] * (end - first - 1)
            else:
                # The tool breaks its driver.
                waiting.extendleft((at, at + 1) for at in range(end - 1, first, -1))
        else:
            waiting.extendleft(_pieces(first, end))
    return found


def one_by_one(program: Program, sets: Sequence[Arguments], *, most_cut: int = MOST_CUT) -> Calls:
    """Each set as a call of its own."""
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
    """The program with a driver as its function; None where the function's name is not a name.

    Args:
        program: what is driven.
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
    """A call that does no more than run the module level and look the function up."""
    driver = with_driver(program, _DRIVER)
    return None if driver is None else (driver, _request([]))


def _request(sets: Sequence[Arguments]) -> Arguments:
    given: list[JSON] = [dict(arguments) for arguments in sets]
    return {"sets": given, "most_chars": BATCH_CHARS, "most_s": BATCH_S}


def _pieces(first: int, end: int) -> list[tuple[int, int]]:
    """The range in pieces, last first, as `deque.extendleft` takes them."""
    step = max(1, (end - first) // PARTS)
    return [(at, min(at + step, end)) for at in range(first, end, step)][::-1]


def _cut(outcome: Outcome) -> bool:
    return isinstance(outcome, TimedOut | OutOfMemory | Died)


def _read(text: str, most: int) -> list[CallRun | None] | None:
    """The driver's report; None where it is none, as after a tool's mischief."""
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
    """The text with halves of surrogate pairs as the escapes that the worker writes alone."""
    return text.encode("utf-8", "backslashreplace").decode()
