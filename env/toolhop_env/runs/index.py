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

from toolhop_env.attempt import Attempt
from toolhop_env.benchmarks import named

INDEX = "results.jsonl"
FORMAT = 2


@dataclass(frozen=True, slots=True)
class IndexLine:
    """An attempt that ended, and the state of the file that it was read from."""

    size: int
    mtime_ns: int
    scorer: str
    """Version of the benchmark that scored it."""
    answers: str
    """Digest of the judge's answers that it was scored with; empty for none."""
    attempt: Attempt

    def fits(self, stat: os.stat_result, answers: str) -> bool:
        """Whether file, judge's answers and scorer are as they were."""
        state = (self.size, self.mtime_ns, self.answers, self.scorer)
        now = (stat.st_size, stat.st_mtime_ns, answers, scorer(self.attempt.benchmark))
        return state == now


_LINE = TypeAdapter(IndexLine)


def to_line(line: IndexLine) -> bytes:
    """As it stands in the file."""
    return _LINE.dump_json(line) + b"\n"


def header() -> bytes:
    """The file's first line."""
    return json.dumps({"index": FORMAT, "scored_by": scored_by()}).encode() + b"\n"


@cache
def scored_by() -> str:
    """A digest of the code that scores, so that no verdict of other code is taken for its own."""
    digest = hashlib.sha256()
    for folder in (files("toolhop_env"), files("toolhop_env") / "scorers", files("toolhop_tools")):
        for part in sorted(folder.iterdir(), key=lambda part: part.name):
            if part.name.endswith(".py"):
                digest.update(part.name.encode() + b"\0" + part.read_bytes() + b"\0")
    return digest.hexdigest()


def scorer(benchmark: str) -> str:
    """The version of a benchmark, which a package outside of this one raises by itself."""
    return named(benchmark).version


def read(path: Path) -> dict[str, IndexLine]:
    """The lines by the file they are of; nothing where the index is not there or of other code."""
    try:
        with path.open("rb") as file:
            return _lines(file) if file.readline() == header() else {}
    except OSError:
        return {}


def _lines(file: Iterable[bytes]) -> dict[str, IndexLine]:
    found: dict[str, IndexLine] = {}
    for text in file:
        try:
            line = _LINE.validate_json(text)
        except ValueError:  # cut short by a kill; the trace tells
            continue
        found[line.attempt.file] = line
    return found


def whole(lines: Mapping[str, IndexLine]) -> Iterator[bytes]:
    """The file's content."""
    yield header()
    yield from (to_line(line) for line in lines.values())
