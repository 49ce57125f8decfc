"""Index of a run's results, one line per finished attempt: derived from traces, fast to read.

    results.jsonl    a header with the scoring code's version, then one line per finished attempt

A line is added after its trace is complete and synced. It is valid only while the trace file has
the size and modification time stated in the line and the scoring code is unchanged; otherwise the
trace is read and scored again. So the file may be lost, truncated or stale at any time. Packed
traces have such an index next to each segment (`toolhop_env.runs.segments`).
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
"""Held by a thread that adds or removes lines, so that none is added to a file being replaced."""


@dataclass(frozen=True, slots=True)
class IndexLine:
    """A finished attempt, and the state of the file that it was read from."""

    size: int
    """Length of the trace, unpacked, in bytes."""
    mtime_ns: int
    """Modification time of the trace file; 0 for a packed trace."""
    scorer: str
    """Version of the benchmark that scored the trace."""
    answers: str
    """Digest of the judge's answers used for scoring; empty if none."""
    attempt: Attempt

    def fits(self, stat: os.stat_result, answers: str) -> bool:
        """Whether the file, the judge's answers and the scorer are unchanged."""
        as_it_was = (self.size, self.mtime_ns) == (stat.st_size, stat.st_mtime_ns)
        return as_it_was and self.scored_as_now(answers)

    def scored_as_now(self, answers: str) -> bool:
        """Whether the judge's answers and the scorer are unchanged."""
        return (self.answers, self.scorer) == (answers, scorer(self.attempt.benchmark))


_LINE = TypeAdapter(IndexLine)


def to_line(line: IndexLine) -> bytes:
    """Return the line as written to the file."""
    return _LINE.dump_json(line) + b"\n"


def from_line(text: bytes) -> IndexLine:
    """Parse a line. Raises ValueError: it is not a valid line."""
    line = _LINE.validate_json(text)
    if "/" in line.attempt.file:
        raise ValueError("its file is in another folder")
    return line


def facts() -> dict[str, JSON]:
    """Return the version information in the index's header."""
    return {"index": FORMAT, "scored_by": scored_by()}


def header() -> bytes:
    """Return the first line of the file."""
    return json.dumps(facts()).encode() + b"\n"


@cache
def scored_by() -> str:
    """Return a digest of the code that scores, so that verdicts of other code are not reused."""
    digest = hashlib.sha256()
    ours = files("toolhop_env") / "benchmarks"
    of_benchmarks = (ours, *(ours / name for name in OWN))
    for folder in (files("toolhop_env"), *of_benchmarks, files("toolhop_tools")):
        for part in sorted(folder.iterdir(), key=lambda part: part.name):
            if part.name.endswith(".py"):
                digest.update(part.name.encode() + b"\0" + part.read_bytes() + b"\0")
    return digest.hexdigest()


def scorer(benchmark: str) -> str:
    """Return a benchmark's version, which covers scoring code outside this package."""
    return named(benchmark).version


def read(path: Path) -> dict[str, IndexLine]:
    """Return the lines by trace file; empty if the index is missing or from other code."""
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
        except ValueError:  # truncated by a kill; the trace has the data
            continue
        found[line.attempt.file] = line
    return found


_NO_LINE = (ValueError, KeyError, TypeError, OverflowError, RecursionError)


def sizes(path: Path) -> dict[str, int]:
    """Return the size of each finished trace by file name, whatever code scored it."""
    found: dict[str, int] = {}
    with suppress(OSError), regular.reading(path) as file:
        for text in file:
            with suppress(*_NO_LINE):  # the header, or a line truncated by a kill
                line = json.loads(text)
                name, size = line["attempt"]["file"], int(line["size"])
                if isinstance(name, str):
                    found[name] = size
    return found


def whole(lines: Mapping[str, IndexLine]) -> Iterator[bytes]:
    """Yield the content of an index file."""
    yield header()
    yield from (to_line(line) for line in lines.values())


def add(path: Path, line: IndexLine) -> None:
    """Add a line, preceded by the header if the file is new.

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
        path: path of the index.
        gone: names of the files.
        write: replaces a file atomically.

    Raises:
        StoreError: it cannot be written.
    """
    with _changing:
        left = {name: line for name, line in read(path).items() if name not in gone}
        write(path, b"".join(whole(left)))
