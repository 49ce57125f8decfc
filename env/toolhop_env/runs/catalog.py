"""Every trace of a run, whether packed in a segment or still a separate file.

Files are listed before segments, so a trace that is packed meanwhile is not missed. A trace found
in both places is taken from the segment only.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from os import DirEntry
from pathlib import Path

from toolhop_env.attempt import Place
from toolhop_env.benchmarks import UnknownBenchmark
from toolhop_env.guarded import BenchmarkFault
from toolhop_env.runs import index as run_index
from toolhop_env.runs.files import EPISODES, SEGMENTS, StoreError, entries
from toolhop_env.runs.index import INDEX, IndexLine
from toolhop_env.runs.judgements import Judgements
from toolhop_env.runs.segments import Segment, file_of, segments
from toolhop_env.trace import Trace, TraceError, from_lines
from toolhop_tools import regular


@dataclass(frozen=True, slots=True)
class Recorded:
    """A stored trace, not parsed yet."""

    run: Path
    file: str
    """Name of the trace file, also after packing."""
    content: bytes
    place: Place | None = None
    """Location of the trace if it is packed."""
    mtime_ns: int = 0
    fault: str = ""
    """Why the file, or this part of the segment, cannot be read; empty if it can."""

    @property
    def where(self) -> str:
        """Location of the trace, for messages."""
        if self.place is None:
            return str(self.run / EPISODES / self.file)
        return f"{self.file} in the segment {self.place.segment} of {self.run}"

    def trace(self) -> Trace:
        """Parse the trace; empty if the episode never started.

        Raises:
            StoreError: the file is not a valid trace.
        """
        if self.fault and self.place is not None:
            raise StoreError(self.fault)
        if self.fault:
            raise StoreError(f"{self.where} cannot be read as a trace: {self.fault}")
        try:
            return from_lines(BytesIO(self.content))
        except TraceError as error:
            raise StoreError(f"{self.where} cannot be read as a trace: {error}") from error

    def line(self, said: Judgements) -> IndexLine | None:
        """Return the trace's index line, judge answers included; None if the episode never started.

        Raises:
            StoreError: the file is not a valid trace, or cannot be scored.
        """
        trace = self.trace()
        return self.scored(trace, said) if trace.events else None

    def scored(self, trace: Trace, said: Judgements) -> IndexLine:
        """Score a trace that is already parsed, and return its index line.

        Raises:
            StoreError: the trace cannot be scored.
        """
        try:
            attempt = said.attempt(trace, file=self.file, place=self.place)
        except (UnknownBenchmark, BenchmarkFault) as error:
            raise StoreError(f"{self.where} cannot be scored: {error}") from error
        state, scorer = said.state(attempt.episode), run_index.scorer(attempt.benchmark)
        return IndexLine(len(self.content), self.mtime_ns, scorer, state, attempt)


def read_trace(path: Path) -> Trace:
    """Read a trace from a file.

    Raises:
        StoreError: the file is not a valid trace.
    """
    try:
        with regular.reading(path, below=0) as file:
            return from_lines(file)
    except (OSError, TraceError) as error:
        raise StoreError(f"{path} cannot be read as a trace: {error}") from error


def files(run: Path) -> dict[str, DirEntry[str]]:
    """Return the unpacked trace files, sorted by name."""
    found = sorted(entries(run / EPISODES), key=lambda entry: entry.name)
    return {entry.name: entry for entry in found if entry.name.endswith(".jsonl")}


def opened(run: Path, file: str) -> Recorded | None:
    """Read the trace of a file, even if it has been packed; None if there is none."""
    try:
        path = run / EPISODES / file
        with regular.reading(path, below=2) as found:
            mtime_ns = os.fstat(found.fileno()).st_mtime_ns
            return Recorded(run, file, found.read(), mtime_ns=mtime_ns)
    except FileNotFoundError:
        place = located(run, file)
        return from_segment(run, file, place) if place else None
    except OSError as error:
        return Recorded(run, file, b"", fault=str(error))


def from_segment(run: Path, file: str, place: Place) -> Recorded:
    """Read one packed trace, without reading the rest of its segment.

    Raises:
        StoreError: the trace cannot be read.
    """
    segment = Segment(run / SEGMENTS, place.segment)
    return Recorded(run, file, segment.member(place), place)


def located(run: Path, file: str) -> Place | None:
    """Find a packed trace, searching the newest segments first; None if it is not packed.

    Raises:
        StoreError: a segment cannot be read.
    """
    fault = ""
    for segment in reversed(segments(run)):
        lines = segment.results(file)
        if lines is None:
            for one in _members(run, segment):
                if one.file == file:
                    return one.place
                fault = fault or one.fault
            continue
        for line in lines:
            if line.attempt.file == file:
                return line.attempt.place
    if fault:
        raise StoreError(fault)
    return None


def recorded(run: Path) -> Iterator[Recorded]:
    """Yield every trace, packed ones first, holding one at a time.

    `Recorded.trace` raises for a trace that cannot be read. A damaged segment yields one such
    entry, after its readable traces.
    """
    ended, left = run_index.sizes(run / INDEX), files(run)
    for segment in segments(run):
        for one in _members(run, segment):
            left.pop(one.file, None)
            ended.pop(one.file, None)
            yield one
    for file in dict.fromkeys([*left, *ended]):
        found = opened(run, file) if file in left else None
        if fault := _damage(ended.get(file), len(found.content) if found else None):
            yield Recorded(run, file, b"", fault=fault)
        elif found is not None:
            yield found


def _damage(ended: int | None, here: int | None) -> str:
    """Describe what is missing from a trace that ended with `ended` bytes; empty if nothing is."""
    if ended is None or (here is not None and here >= ended):
        return ""
    lost = "it is not there" if here is None else f"{here} of its {ended} bytes are left"
    return f"{lost}, and the run's index has its end; put back a copy of the file"


def _members(run: Path, segment: Segment) -> Iterator[Recorded]:
    """Yield a segment's traces.

    After a damaged trace, those that the index locates are still yielded, followed by one entry
    that describes the damage.
    """
    end = 0
    try:
        for place, content in segment.members():
            end = place.offset + place.length
            yield Recorded(run, file_of(content), content, place)
    except StoreError as error:
        damaged, whole = 0, segment.path.exists()
        known = [line.attempt for line in segment.results() or ()]
        for one in known:
            if one.place is not None and one.place.offset >= end:
                try:
                    found = from_segment(run, one.file, one.place) if whole else None
                except StoreError:
                    found = None
                damaged += found is None
                if found is not None:
                    yield found
        more = f" ({damaged} of its {len(known)} traces cannot be read)" if known else ""
        yield Recorded(run, "", b"", segment.place(end, 0), fault=f"{error}{more}")


def lines(
    run: Path,
    known: Mapping[str, IndexLine],
    said: Judgements,
    put_right: Callable[[Segment, list[IndexLine]], None],
    mentioning: str = "",
    faults: Callable[[StoreError], None] | None = None,
) -> Iterator[IndexLine]:
    """Yield the index line of every trace, packed ones first, holding one segment at a time.

    Args:
        run: the run's folder.
        known: the index of unpacked files, by name.
        said: the judge's answers.
        put_right: receives a segment whose index is lost or stale, with its correct lines.
        mentioning: an item or episode; packed attempts at others are left out.
        faults: receives the error of each unreadable trace, which is then skipped; if None, the
            error is raised.

    Raises:
        StoreError: a trace cannot be read.
    """
    faults = faults or _raised
    ended, left = run_index.sizes(run / INDEX), files(run)
    for segment in segments(run):
        for line in _of_segment(run, segment, said, put_right, mentioning, faults):
            left.pop(line.attempt.file, None)
            ended.pop(line.attempt.file, None)
            yield line
    # With `mentioning`, packed attempts at other items were left out above.
    for name in dict.fromkeys([*left, *([] if mentioning else ended)]):
        entry, size = left.get(name), None
        with contextlib.suppress(FileNotFoundError):  # packed since it was listed
            size = entry.stat().st_size if entry else None
        try:
            if (fault := _damage(ended.get(name), size)) and not (entry and size is None):
                Recorded(run, name, b"", fault=fault).trace()
            line_ = _of_file(run, entry, known.get(name), said) if entry else None
        except StoreError as error:
            faults(error)
        else:
            if line_ is not None:
                yield line_


def _raised(error: StoreError) -> None:
    raise error


def _of_file(
    run: Path, entry: DirEntry[str], known: IndexLine | None, said: Judgements
) -> IndexLine | None:
    """Return the index line of an unpacked file, from the index or else from the trace."""
    state = said.state(known.attempt.episode) if known else ""
    with contextlib.suppress(FileNotFoundError):  # packed since it was listed
        if known is not None and known.fits(entry.stat(follow_symlinks=False), state):
            return known
    found = opened(run, entry.name)
    return found.line(said) if found else None


def _of_segment(
    run: Path,
    segment: Segment,
    said: Judgements,
    put_right: Callable[[Segment, list[IndexLine]], None],
    mentioning: str,
    faults: Callable[[StoreError], None],
) -> list[IndexLine]:
    """Return the index lines of a segment, from its index or else from its traces."""
    known = segment.results(mentioning)
    met: list[StoreError] = []
    found: list[IndexLine] = []
    if known is None:
        for one in _members(run, segment):
            try:
                scored = one.line(said)
            except StoreError as error:
                met.append(error)
            else:
                found += [scored] if scored else []
        is_right = False
    else:
        is_right = bool(mentioning)  # no index is written for part of the traces
        fresh = True
        for line in known:
            attempt = line.attempt
            if attempt.place and not line.scored_as_now(said.state(attempt.episode)):
                fresh = False
                try:
                    again = from_segment(run, attempt.file, attempt.place).line(said)
                except StoreError as error:
                    met.append(error)
                    continue
                found.append(again or line)
            else:
                found.append(line)
        is_right = is_right or fresh
    if not is_right and not met:
        put_right(segment, found)
    for fault in met:
        faults(fault)
    return found
