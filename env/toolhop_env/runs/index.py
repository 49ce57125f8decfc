"""What a run's traces come to, one line an ended attempt: derived, quick to read, never the truth.

    results.jsonl    a line that says which code scored; then a line for each attempt that ended

A line is added after its trace is complete and synced. It counts only while the trace file has
the size and time of change that the line names, and while the same code scores: else the trace
is read and scored again. So the file may be lost, cut short or out of date at any time. Traces
that are packed have such an index beside each segment (`toolhop_env.runs.segments`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Lock

from pydantic import TypeAdapter

from toolhop_env.attempt import Attempt
from toolhop_env.benchmarks import named
from toolhop_sandbox.outcome import JSON
from toolhop_tools import regular
from toolhop_tools.benchmarks import OWN
from toolhop_tools.growing import append

INDEX = "results.jsonl"
FORMAT = 3
_changing = Lock()
"""Held by a thread that adds lines or takes some out: none is added to a file that is replaced."""


@dataclass(frozen=True, slots=True)
class IndexLine:
    """An attempt that ended, and the state of the file that it was read from."""

    size: int
    """Bytes of the trace, not packed."""
    mtime_ns: int
    """0 for a trace that is packed."""
    scorer: str
    """Version of the benchmark that scored it."""
    answers: str
    """Digest of the judge's answers that it was scored with; empty for none."""
    attempt: Attempt

    def fits(self, stat: os.stat_result, answers: str) -> bool:
        """Whether file, judge's answers and scorer are as they were."""
        as_it_was = (self.size, self.mtime_ns) == (stat.st_size, stat.st_mtime_ns)
        return as_it_was and self.scored_as_now(answers)

    def scored_as_now(self, answers: str) -> bool:
        """Whether judge's answers and scorer are as they were."""
        return (self.answers, self.scorer) == (answers, scorer(self.attempt.benchmark))


_LINE = TypeAdapter(IndexLine)


def to_line(line: IndexLine) -> bytes:
    """As it stands in the file."""
    return _LINE.dump_json(line) + b"\n"


def from_line(text: bytes) -> IndexLine:
    """Read back. Raises ValueError: it is none."""
    line = _LINE.validate_json(text)
    if "/" in line.attempt.file:
        raise ValueError("its file is in another folder")
    return line


def facts() -> dict[str, JSON]:
    """What an index says of itself."""
    return {"index": FORMAT, "scored_by": scored_by()}


def header() -> bytes:
    """The file's first line."""
    return json.dumps(facts()).encode() + b"\n"


@cache
def scored_by() -> str:
    """A digest of the code that scores, so that no verdict of other code is taken for its own."""
    digest = hashlib.sha256()
    ours = files("toolhop_env") / "benchmarks"
    of_benchmarks = (ours, *(ours / name for name in OWN))
    for folder in (files("toolhop_env"), *of_benchmarks, files("toolhop_tools")):
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
        with regular.reading(path) as file:
            return _lines(file) if file.readline() == header() else {}
    except OSError:
        return {}


def _lines(file: Iterable[bytes]) -> dict[str, IndexLine]:
    found: dict[str, IndexLine] = {}
    for text in file:
        try:
            line = from_line(text)
        except ValueError:  # cut short by a kill; the trace tells
            continue
        found[line.attempt.file] = line
    return found


_NO_LINE = (ValueError, KeyError, TypeError, OverflowError, RecursionError)


def sizes(path: Path) -> dict[str, int]:
    """The bytes of each trace that ended, by its file's name, whatever code scored it."""
    found: dict[str, int] = {}
    with suppress(OSError), regular.reading(path) as file:
        for text in file:
            with suppress(*_NO_LINE):  # the header, or cut short by a kill
                line = json.loads(text)
                found[line["attempt"]["file"]] = int(line["size"])
    return found


def whole(lines: Mapping[str, IndexLine]) -> Iterator[bytes]:
    """The file's content."""
    yield header()
    yield from (to_line(line) for line in lines.values())


def add(path: Path, line: IndexLine) -> None:
    """Add a line; the header too, where the file is new.

    Raises:
        OSError: it cannot be written.
    """
    text = to_line(line)
    with _changing:
        descriptor = regular.descriptor(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            if os.fstat(descriptor).st_size == 0:
                text = header() + text
            append(descriptor, text, sync=False)
        finally:
            os.close(descriptor)


def take_out(path: Path, gone: Set[str], write: Callable[[Path, bytes], None]) -> None:
    """Replace the index by one without the lines of some files.

    Args:
        path: of the index.
        gone: names of the files.
        write: replaces a file in one step.

    Raises:
        StoreError: it cannot be written.
    """
    with _changing:
        left = {name: line for name, line in read(path).items() if name not in gone}
        write(path, b"".join(whole(left)))
