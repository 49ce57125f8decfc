"""Many calls of one program in one sandboxed process, where a process a call would take too long.

A small driver is appended to the program's source (which keeps its lines) and called with a list of
argument sets. What the calls of one batch share is that process: a tool that keeps state between
calls, or breaks its own module, may answer otherwise than alone. So a batch finds what is worth a
look, and what is reported is confirmed by a call of its own. Nothing is shared between batches.
"""

from __future__ import annotations

import json
import keyword
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from sandbox.base import Program, Session
from sandbox.outcome import JSON, Died, NotJson, Outcome, OutOfMemory, Raised, Returned, TimedOut

BATCH = 64
"""Argument sets a batch: a process costs some 3 ms, a call of a usual tool some 10 µs."""
RETURN_CHARS = 200_000
"""Length of results after which a batch ends early, to stay below a call's limit."""
RETURN_S = 0.25
"""Seconds after which a batch ends early; the rest is another batch."""
PARTS = 8
"""Pieces that a batch that was cut off is broken into: 64 sets need three cuts to find the one."""
MOST_CUT = 6
"""Batches that may be cut off (out of time, out of memory, dead) before the rest is given up."""

Arguments: TypeAlias = Mapping[str, JSON]

_DRIVER = """

def {driver}(sets, most_chars, most_s):
    import json
    import time
    found, size, start = [], 0, time.monotonic()
    for arguments in sets:
        try:
            value = {function}(**arguments)
        except BaseException as error:
            try:
                text = str(error)[:4000]
            except BaseException:
                text = "(the exception's text cannot be made)"
            entry = ["raised", type(error).__name__, text]
        else:
            try:
                entry = ["returned", json.dumps(value, ensure_ascii=False, allow_nan=False)]
            except BaseException as error:
                entry = ["not_json", str(error)[:4000]]
        found.append(entry)
        size += len(entry[-1])
        if size > most_chars or time.monotonic() - start > most_s:
            break
    return found
"""


_SHADOWS = re.compile(
    r"^(?!\s)(?:.*\b(?:str|len|type|BaseException)\s*(?:,[^=]*|:[^=]*)?=(?!=)"
    r"|(?:def|class)\s+(?:str|len|type|BaseException)\b|.*\bimport\b.*\b(?:str|len|type)\b)",
    re.MULTILINE,
)
"""A module level that rebinds a built-in of the driver's. What matches more is only slower."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """The set was not run: too many batches before it were cut off."""

    reason: str


BatchOutcome: TypeAlias = Outcome | Skipped
"""What came of one set. Within a batch `Raised` has no line, and a call that asks for too much
memory at once raises `MemoryError`."""


async def run_batch(
    session: Session,
    program: Program,
    sets: Sequence[Arguments],
    *,
    size: int = BATCH,
    most_cut: int = MOST_CUT,
) -> list[BatchOutcome]:
    """What each set of arguments gives, in order, in as few processes as can be.

    A batch that times out, dies or gives no sense is broken up until the set that does it is
    alone; that set is called as an ordinary call, and its outcome is that call's. Once `most_cut`
    batches or calls were cut off, all that has not run by then is `Skipped`.

    Raises:
        SandboxFault, SandboxUnavailable: as `Session.call`.
    """
    work = _Work(session, program, list(sets))
    starts = range(0, len(sets), size)
    waiting = deque((start, min(start + size, len(sets))) for start in starts)
    while waiting:
        first, end = waiting.popleft()
        if work.cut >= most_cut:
            break
        done = await work.run(first, end)
        if done is None:
            step = max(1, (end - first) // PARTS)
            pieces = [(at, min(at + step, end)) for at in range(first, end, step)]
            waiting.extendleft(reversed(pieces))
        elif first + done < end:
            waiting.appendleft((first + done, end))
    given_up = Skipped(f"{work.cut} batches before it were cut off")
    return [given_up if outcome is None else outcome for outcome in work.outcomes]


@dataclass
class _Work:
    """The sets of one `run_batch` and what came of them so far."""

    session: Session
    program: Program
    sets: list[Arguments]
    outcomes: list[BatchOutcome | None] = field(init=False)
    cut: int = 0

    def __post_init__(self) -> None:
        self.outcomes = [None] * len(self.sets)

    async def run(self, first: int, end: int) -> int | None:
        """Run the sets from `first`, at most to `end`; how many were, None where none could be."""
        driver = driven(self.program)
        if end - first == 1 or driver is None:
            outcome = await self.session.call(self.program, self.sets[first])
            self.cut += isinstance(outcome, TimedOut | OutOfMemory | Died)
            self.outcomes[first] = outcome
            return 1
        given: list[JSON] = [dict(arguments) for arguments in self.sets[first:end]]
        call: dict[str, JSON] = {"sets": given, "most_chars": RETURN_CHARS, "most_s": RETURN_S}
        outcome = await self.session.call(driver, call)
        if isinstance(outcome, Returned):
            found = _read(outcome.json_text, end - first)
            if found:
                self.outcomes[first : first + len(found)] = found
            return len(found) or None
        if isinstance(outcome, TimedOut | OutOfMemory | Died):
            self.cut += 1
            return None
        if isinstance(outcome, Raised):
            # By the module level or the compiler, before any call; a call alone tells the same.
            self.outcomes[first:end] = [outcome] * (end - first)
            return end - first
        return None


@lru_cache(maxsize=256)
def driven(program: Program) -> Program | None:
    """The program with the driver as its function.

    None where the name cannot be called, or the source takes a name that the driver needs.
    """
    if not program.function.isidentifier() or keyword.iskeyword(program.function):
        return None
    if _SHADOWS.search(program.source):
        return None
    name = "run_argument_sets"
    while name in program.source or name == program.function:
        name += "_"
    code = _DRIVER.format(driver=name, function=program.function)
    return Program(program.source + code, name)


def _read(text: str, most: int) -> list[BatchOutcome]:
    """The driver's report as outcomes; empty where it is none, as after a tool's mischief."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(entries, list) or len(entries) > most:
        return []
    found: list[BatchOutcome] = []
    for entry in entries:
        match entry:
            case ["returned", str(value)]:
                found.append(Returned(_utf8(value)))
            case ["raised", str(error), str(message)]:
                found.append(Raised(_utf8(error), _utf8(message)))
            case ["not_json", str(reason)]:
                found.append(NotJson(_utf8(reason)))
            case _:
                return []
    return found


def _utf8(text: str) -> str:
    """The text with halves of surrogate pairs as the escapes that the worker writes alone."""
    return text.encode("utf-8", "backslashreplace").decode()
