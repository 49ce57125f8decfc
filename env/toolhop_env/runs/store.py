"""A run's folder: its settings, its items, and the trace of every episode.

    manifest.json        settings, versions, data, sandbox, status; replaced atomically
    items.jsonl          the items as played (official rows for ToolHop): the folder stands alone
    episodes/NAME.jsonl  a trace, appended event by event, synced when the episode has ended
    segments/            packed traces of finished episodes (`toolhop_env.runs.packing`)
    judgements.jsonl     a judge's answers about the traces, if one was asked
    results.jsonl        results derived from traces and answers (`toolhop_env.runs.index`)
    lock                 held by the process that plays

An attempt is finished if the last line of its file is `ended`. So a kill at any moment loses no
finished episode, and an attempt that was cut off can be recognised. Every attempt has a separate
file, and no file is opened for writing twice. In a large run finished episodes are packed later.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from toolhop_env.attempt import Attempt, Place, counting_streamed
from toolhop_env.episode import Sink
from toolhop_env.formats import FormatError, checked, upgraded
from toolhop_env.runs import catalog, judgements, manifest_formats
from toolhop_env.runs import index as run_index
from toolhop_env.runs.catalog import Recorded
from toolhop_env.runs.files import (
    EPISODES,
    MANIFEST,
    StoreError,
    file_name,
    fresh_folder,
    held,
    no_run,
    reported,
    write_atomic,
)
from toolhop_env.runs.index import INDEX, IndexLine
from toolhop_env.runs.judgements import JUDGEMENTS, Judgement, Judgements
from toolhop_env.runs.segments import Segment, remove_packed, segments, sweep
from toolhop_env.trace import Ended, Event, Trace, to_line
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools import regular
from toolhop_tools.benchmarks.toolhop import reader as toolhop
from toolhop_tools.errors import DataError, why
from toolhop_tools.growing import append
from toolhop_tools.model import TOOLHOP, DataSet, Item
from toolhop_tools.readers import native
from toolhop_tools.readers.datafile import parse

ITEMS = "items.jsonl"


@dataclass(frozen=True, slots=True)
class RunStore:
    """A run's folder on disk."""

    folder: Path

    @classmethod
    def create(
        cls,
        log_dir: Path,
        name: str,
        manifest: Mapping[str, JSON],
        items: Sequence[Item] = (),
    ) -> RunStore:
        """Create a new folder `name` in `log_dir`, with a number appended if the name is taken.

        Items are written before the manifest, so a folder with a manifest always has its items.

        Raises:
            StoreError: it cannot be written.
        """
        folder = fresh_folder(log_dir, name, EPISODES)
        store = cls(folder)
        try:
            if items:
                store.write_items(items)
            store.write_manifest(manifest)
        except StoreError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return store

    @classmethod
    def open(cls, folder: str | Path) -> RunStore:
        """Open an existing run.

        Raises:
            StoreError: `folder` is not a run, or its manifest cannot be read.
        """
        store = cls(Path(folder))
        if not (store.folder / MANIFEST).is_file():
            raise StoreError(no_run(store.folder))
        _ = store.manifest
        return store

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest, upgraded to the newest format.

        Raises:
            StoreError: it cannot be read, or has a newer format.
        """
        path = self.folder / MANIFEST
        try:
            loaded = parse(regular.content(path), "")
            if not isinstance(loaded, dict):
                raise _broken(path, "it is not a JSON object")
            found = checked(loaded.get("format", 1), manifest_formats.STEPS, "manifest")
            newest = upgraded(loaded, found, manifest_formats.STEPS)
            manifest_formats.Shape.model_validate(newest, strict=True)
        except FormatError as error:
            raise StoreError(f"{path} cannot be read: {error}") from error
        except (OSError, ValidationError, DataError) as error:
            said = str(error) if isinstance(error, DataError) else why(error)
            raise _broken(path, said) from error
        return newest

    def write_manifest(self, manifest: Mapping[str, JSON]) -> None:
        """Replace the manifest atomically.

        Raises:
            StoreError: it cannot be written; the previous one remains.
        """
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        write_atomic(self.folder / MANIFEST, text.encode())

    def write_items(self, items: Sequence[Item]) -> None:
        """Store the items of the run.

        Raises:
            StoreError: they cannot be written.
        """
        if all(_official(item) for item in items):
            rows = toolhop.to_rows(DataSet("run", str(self.folder), tuple(items)))
        else:
            rows = [native.to_row(item) for item in items]
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        write_atomic(self.folder / ITEMS, "".join(lines).encode())

    def items(self, *, last_wins: bool = False) -> DataSet:
        """Read the items of the run.

        Raises:
            StoreError: the file is missing.
            ToolsError: it cannot be used.
        """
        path = self.folder / ITEMS
        if not path.is_file():
            raise StoreError(f"{self.folder} has no {ITEMS}: the run cannot be resumed")
        try:
            regular.reading(path).close()
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error
        if native.is_native_file(path):
            return native.read_file(path)
        return toolhop.read(path, last_wins=last_wins)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the run for this process until the context exits or the process ends.

        Raises:
            StoreError: another process holds the lock.
        """
        with held(self.folder):
            yield

    def path(self, name: str) -> Path:
        """Return the path of the trace file of episode `name`."""
        return self.folder / EPISODES / f"{file_name(name)}.jsonl"

    @contextmanager
    def sink(self, name: str) -> Iterator[Sink]:
        """Yield a function that appends events to the trace of `name`, and syncs it at `ended`.

        Raises:
            StoreError: the file already exists, as every attempt needs a unique name; or an event
                cannot be written (a full disk), in which case the run must stop and the file keeps
                the earlier events intact.
        """
        path = self.path(name)
        with reported(path):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
            descriptor = regular.descriptor(path, flags, below=2)

        def write(event: Event) -> None:
            with reported(path):
                append(descriptor, to_line(event), sync=isinstance(event, Ended))

        try:
            yield write
        finally:
            os.close(descriptor)

    def recorded(self) -> Iterator[Recorded]:
        """Yield every attempt's stored trace, packed ones first, holding one at a time.

        Raises:
            StoreError: a segment cannot be read, or the run ended but has no trace at all.
        """
        found = None
        for found in catalog.recorded(self.folder):
            yield found
        if found is None and self.manifest.get("status") == "success":
            raise StoreError(
                f"{self.folder} has no trace, though the run ended; put back a copy of "
                f"{EPISODES}/ and segments/"
            )

    def traces(self) -> Iterator[Trace]:
        """Yield every attempt's trace, including cut-off ones, in the order of `recorded`.

        Raises:
            StoreError: a trace cannot be read.
        """
        yield from (trace for one in self.recorded() if (trace := one.trace()).events)

    def trace(self, attempt: Attempt) -> Trace:
        """Read the trace of an attempt of this run, without opening any other.

        Raises:
            StoreError: it cannot be read.
        """
        return self.stored(attempt.file, attempt.place).trace()

    def stored(self, file: str, place: Place | None) -> Recorded:
        """Return a stored trace by its file name, and its location if it is packed.

        Raises:
            StoreError: it does not exist, or its segment cannot be read.
        """
        if place is not None:
            return catalog.from_segment(self.folder, file, place)
        found = catalog.opened(self.folder, file)
        if found is None:
            raise StoreError(f"{self.folder / EPISODES / file} is not there any more; put it back")
        return found

    def named(self, name: str) -> Trace | None:
        """Read the trace of episode `name`; empty if it never started, None if there is no file.

        Raises:
            StoreError: it cannot be read.
        """
        found = catalog.opened(self.folder, self.path(name).name)
        return found.trace() if found else None

    def attempts(
        self, mentioning: str = "", faults: Callable[[StoreError], None] | None = None
    ) -> Iterator[Attempt]:
        """Yield every attempt, including cut-off ones, packed ones first.

        Attempts come from the index where it is valid; other traces are read. A stale index is
        corrected on the way, unless the run is being played. One segment's attempts are held at a
        time.

        Args:
            mentioning: an item or episode; attempts at others may be left out, which is faster.
            faults: receives the error of each unreadable trace, which is then skipped; if None, the
                error is raised.

        Raises:
            StoreError: a trace cannot be read.
        """
        lines: dict[str, IndexLine] = {}
        known, met = run_index.read(self.folder / INDEX), list[StoreError]()

        def told(error: StoreError) -> None:
            met.append(error)
            if faults is None:
                raise error
            faults(error)

        yield from self._scan(known, lines, mentioning, told)
        if (
            lines != known and not mentioning and not met
        ):  # otherwise the old index still lists what is lost
            self._unless_played(lambda: self._write_index(lines))

    def _scan(
        self,
        known: Mapping[str, IndexLine],
        lines: dict[str, IndexLine],
        mentioning: str = "",
        faults: Callable[[StoreError], None] | None = None,
        *,
        is_held: bool = False,
    ) -> Iterator[Attempt]:
        """Yield every attempt, and fill `lines` with the correct index of unpacked files."""
        said = self.judgements()

        def put_right(one: Segment, found: list[IndexLine]) -> None:
            write = partial(one.write_index, found)
            write() if is_held else self._unless_played(write)

        for line in catalog.lines(self.folder, known, said, put_right, mentioning, faults):
            if line.attempt.ended and line.attempt.place is None:
                lines[line.attempt.file] = line
            yield _judged(line.attempt, said.panel)

    def _unless_played(self, write: Callable[[], None]) -> None:
        """Try to correct an index; failure does no harm."""
        with contextlib.suppress(StoreError), self.held():
            write()

    def results(self) -> Iterator[Attempt]:
        """Yield the attempt that counts for each finished episode: the first that is not errored.

        The attempts are read twice, so that few are held in memory.

        Raises:
            StoreError: a trace cannot be read.
        """
        yield from counting_streamed(lambda: (one for one in self.attempts() if one.ended))

    def scored_anew(self) -> Iterator[Attempt]:
        """Yield every attempt that began, scored again from its trace and the judge's answers.

        Raises:
            StoreError: a trace cannot be read.
        """
        said = self.judgements()
        for one in self.recorded():
            line = one.line(said)
            if line is not None:
                yield _judged(line.attempt, said.panel)

    def judgements(self) -> Judgements:
        """Read the judge's answers about the traces.

        Raises:
            StoreError: they cannot be read.
        """
        path = self.folder / JUDGEMENTS
        try:
            return Judgements.read(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error}") from error

    def add_judgements(self, found: Sequence[Judgement]) -> None:
        """Store a judge's answers. The caller must hold the run.

        Raises:
            StoreError: they cannot be written.
        """
        path = self.folder / JUDGEMENTS
        with reported(path):
            judgements.add(path, found)

    def add_result(self, name: str, trace: Trace, said: Judgements | None = None) -> Attempt:
        """Add a finished attempt to the index. The caller must hold the run.

        Args:
            name: name of the episode.
            trace: its finished trace.
            said: the judge's answers stored so far.

        Raises:
            StoreError: it cannot be written.
        """
        path, index = self.path(name), self.folder / INDEX
        with reported(path):
            stat = path.stat()
        found = Recorded(self.folder, path.name, b"", mtime_ns=stat.st_mtime_ns)
        line = replace(found.scored(trace, said or Judgements()), size=stat.st_size)
        with reported(index):
            run_index.add(index, line)
        return line.attempt

    def repair_index(self, seen: Callable[[Attempt], None] = lambda _: None) -> int:
        """Complete the index before it is added to, and return the number of attempts.

        The caller must hold the run. Interrupted packing is completed as well: the file of a packed
        trace is removed.

        Args:
            seen: called with every attempt.

        Raises:
            StoreError: the index cannot be written, or a trace cannot be read.
        """
        index = self.folder / INDEX
        with reported(self.folder / EPISODES):
            # Some ways of copying drop empty folders.
            (self.folder / EPISODES).mkdir(exist_ok=True)
        sweep(self.folder)
        for segment in segments(self.folder):  # lost episodes must not be silently played again
            segment.check_size()
        alone = catalog.files(self.folder)
        lines: dict[str, IndexLine] = {}
        known = run_index.read(index)
        count = 0
        for attempt in self._scan(known, lines, is_held=True):
            if attempt.place is not None and attempt.file in alone:
                remove_packed(self.folder, attempt.file, attempt.place)
            seen(attempt)
            count += 1
        with reported(index):
            is_cut = index.exists() and not regular.content(index).endswith(b"\n")
        if lines != known or is_cut:
            self._write_index(lines)
        return count

    def _write_index(self, lines: Mapping[str, IndexLine]) -> None:
        write_atomic(self.folder / INDEX, b"".join(run_index.whole(lines)))


def _broken(manifest: Path, reason: str) -> StoreError:
    return StoreError(
        f"{manifest} cannot be read: {reason}\n  fix: put back a copy of it. The traces are kept; "
        f"`toolhop show FILE` reads one of {EPISODES}/"
    )


def _official(item: Item) -> bool:
    """Whether ToolHop's row format can represent an item."""
    programs = all(isinstance(tool.body, Program) for tool in item.tools.values())
    shows_others = bool(item.order) or not item.others
    return item.benchmark == TOOLHOP and programs and shows_others


def _judged(attempt: Attempt, judge: str) -> Attempt:
    return attempt if attempt.judge == judge else replace(attempt, judge=judge)
