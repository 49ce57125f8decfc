"""What a run's traces come to, one line an ended attempt: derived, quick to read, never the truth.

    results.jsonl    a line that says which code scored; then a line for each attempt that ended

A line is added after its trace is complete and synced. It counts only while the trace file has
the size and time of change that the line names, and while the same code scores: else the trace
is read and scored again. So the file may be lost, cut short or out of date at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import TypeAdapter

from env.spending import Spent, spent
from env.summary import Judged, judge
from env.trace import Trace

INDEX = "results.jsonl"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at an episode, whatever became of it."""

    file: str
    """Name of the trace's file."""
    ended: bool
    """Not so for one that was cut off or is under way; its verdict is void."""
    judged: Judged
    spent: Spent
    """What this attempt took itself."""
    parent: str = ""
    """The episode that it went on from; empty for one that began anew."""
    kept_turns: int = 0

    @classmethod
    def of(cls, file: str, trace: Trace) -> Attempt:
        """What a trace that has begun comes to."""
        start = trace.started
        return cls(
            file,
            trace.ended is not None,
            judge(trace),
            spent(trace),
            start.parent,
            start.kept_turns,
        )


@dataclass(frozen=True, slots=True)
class Line:
    """An attempt that ended, and the state of the file that it was read from."""

    size: int
    mtime_ns: int
    attempt: Attempt

    def fits(self, stat: os.stat_result) -> bool:
        """Whether the file is as it was."""
        return (self.size, self.mtime_ns) == (stat.st_size, stat.st_mtime_ns)


_LINE = TypeAdapter(Line)


def to_line(line: Line) -> bytes:
    """As it stands in the file."""
    return _LINE.dump_json(line) + b"\n"


def header() -> bytes:
    """The file's first line."""
    return json.dumps({"index": FORMAT, "scored_by": scored_by()}).encode() + b"\n"


@cache
def scored_by() -> str:
    """A digest of the code that scores, so that no verdict of other code is taken for its own."""
    digest = hashlib.sha256()
    for room in ("env", "toolhop_tools"):
        for part in sorted(files(room).iterdir(), key=lambda part: part.name):
            if part.name.endswith(".py"):
                digest.update(part.name.encode() + b"\0" + part.read_bytes() + b"\0")
    return digest.hexdigest()


def read(path: Path) -> dict[str, Line]:
    """The lines by the file they are of; nothing where the index is not there or of other code."""
    try:
        with path.open("rb") as file:
            return _lines(file) if file.readline() == header() else {}
    except OSError:
        return {}


def _lines(file: Iterable[bytes]) -> dict[str, Line]:
    found: dict[str, Line] = {}
    for text in file:
        try:
            line = _LINE.validate_json(text)
        except ValueError:  # cut short by a kill; the trace tells
            continue
        found[line.attempt.file] = line
    return found


def whole(lines: Mapping[str, Line]) -> Iterator[bytes]:
    """The file's content."""
    yield header()
    yield from (to_line(line) for line in lines.values())
