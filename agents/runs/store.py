"""A run's folder: what was asked for, what was played, and one trace file an episode.

    manifest.json        settings, versions, data, sandbox, status; written aside, renamed
    items.jsonl          the items as played, in ToolHop's row format: the folder stands alone
    episodes/NAME.jsonl  a trace, appended event by event, synced when the episode has ended
    results.jsonl        what the traces come to; derived from them (`agents.runs.index`)
    lock                 held by the process that plays

An attempt is finished where its file's last line is `ended`. So a kill at any moment loses no
finished episode, and one that was cut off is seen to be. Every attempt has a file of its own, and
no file is opened for writing twice.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.runs import index as run_index
from agents.runs import manifest_formats
from agents.runs.aside import aside
from agents.runs.index import INDEX, Attempt, Line
from env.episode import Sink
from env.formats import FormatError, checked, upgraded
from env.summary import Judged, counting
from env.trace import Ended, Event, Trace, TraceError, from_lines, to_line
from sandbox.outcome import JSON
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Item
from toolhop_tools.official import to_rows

MANIFEST = "manifest.json"
ITEMS = "items.jsonl"
EPISODES = "episodes"
LOCK = "lock"
LISTED = 5
"""Runs that are named where a folder of runs is given for one."""


class StoreError(Exception):
    """A run folder that cannot be made or read; says which, and what to do."""


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
        """Make a new folder `name` below `log_dir`, with a number added where it is taken.

        A folder with a manifest has its items: those are written first.

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
    def open(cls, folder: Path) -> RunStore:
        """An existing run.

        Raises:
            StoreError: `folder` holds none.
        """
        if not (folder / MANIFEST).is_file():
            raise StoreError(_no_run(folder))
        return cls(folder)

    @property
    def manifest(self) -> dict[str, Any]:
        """What `write_manifest` wrote last, in the newest format whatever it was written in.

        Raises:
            StoreError: it cannot be read, or is of a newer format.
        """
        try:
            loaded = _object((self.folder / MANIFEST).read_bytes())
            found = checked(loaded.get("format", 1), manifest_formats.STEPS, "manifest")
        except (OSError, ValueError, TypeError, FormatError) as error:
            raise StoreError(f"{self.folder / MANIFEST} cannot be read: {error}") from error
        return upgraded(loaded, found, manifest_formats.STEPS)

    def write_manifest(self, manifest: Mapping[str, JSON]) -> None:
        """Replace the manifest in one step.

        Raises:
            StoreError: it cannot be written; the one before stays.
        """
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        write_aside(self.folder / MANIFEST, text.encode())

    def write_items(self, items: Sequence[Item]) -> None:
        """Keep the items that are played.

        Raises:
            StoreError: they cannot be written.
        """
        rows = to_rows(DataSet("run", str(self.folder), tuple(items)))
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        write_aside(self.folder / ITEMS, "".join(lines).encode())

    def items(self, *, last_wins: bool = False) -> DataSet:
        """The items that are played, as they were kept.

        Raises:
            StoreError: the file is not there.
            ToolsError: it cannot be used.
        """
        path = self.folder / ITEMS
        if not path.is_file():
            raise StoreError(f"{self.folder} has no {ITEMS}: the run cannot be gone on with")
        return load(path, last_wins=last_wins)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be the one process that plays this run, until the context is left or the process ends.

        Raises:
            StoreError: another process plays it.
        """
        with held(self.folder):
            yield

    def path(self, name: str) -> Path:
        """The trace file of episode `name`."""
        return self.folder / EPISODES / f"{file_name(name)}.jsonl"

    @contextmanager
    def sink(self, name: str) -> Iterator[Sink]:
        """Where the events of episode `name` go. The file is synced once `ended` is in it.

        Raises:
            StoreError: there is such a file already: every attempt has a name of its own. Or when
                an event cannot be written (a full disk); the run must stop. The file keeps the
                events before it, whole.
        """
        path = self.path(name)
        with _told(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)

        def write(event: Event) -> None:
            with _told(path):
                _append(descriptor, to_line(event), sync=isinstance(event, Ended))

        try:
            yield write
        finally:
            os.close(descriptor)

    def traces(self) -> Iterator[Trace]:
        """Every episode's trace, cut-off ones included, in order of file name.

        Raises:
            StoreError: a file cannot be read as a trace.
        """
        for entry in self._files():
            trace = read_trace(Path(entry.path))
            if trace.events:
                yield trace

    def attempts(self) -> Iterator[Attempt]:
        """What became of every attempt, cut-off ones included, in order of file name.

        From the index as far as it goes; other traces are read. An index that was found wanting is
        put right on the way, unless the run is being played.

        Raises:
            StoreError: a file cannot be read as a trace.
        """
        lines: dict[str, Line] = {}
        known = run_index.read(self.folder / INDEX)
        yield from self._scan(known, lines)
        if lines != known:
            with contextlib.suppress(StoreError), self.held():
                self._write_index(lines)

    def _scan(self, known: Mapping[str, Line], lines: dict[str, Line]) -> Iterator[Attempt]:
        """Every attempt; `lines` is filled with what the index should hold."""
        for entry in self._files():
            line = known.get(entry.name)
            if line is None or not line.fits(entry.stat()):
                line = _line(Path(entry.path))
            if line is None:
                continue
            if line.attempt.ended:
                lines[entry.name] = line
            yield line.attempt

    def results(self) -> Iterator[Judged]:
        """The verdicts that count: one a finished episode, of its attempts the first not void.

        Raises:
            StoreError: a file cannot be read as a trace.
        """
        yield from counting(attempt.judged for attempt in self.attempts() if attempt.ended)

    def add_result(self, name: str, trace: Trace) -> Attempt:
        """Add an attempt that ended to the index. To be called with the run held.

        Raises:
            StoreError: it cannot be written.
        """
        path = self.path(name)
        attempt = Attempt.of(path.name, trace)
        index = self.folder / INDEX
        with _told(index):
            stat = path.stat()
            text = run_index.to_line(Line(stat.st_size, stat.st_mtime_ns, attempt))
            descriptor = os.open(index, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                if os.fstat(descriptor).st_size == 0:
                    text = run_index.header() + text
                _append(descriptor, text, sync=False)
            finally:
                os.close(descriptor)
        return attempt

    def mend_index(self) -> list[Attempt]:
        """Make the index whole, before it is added to. To be called with the run held.

        Raises:
            StoreError: it cannot be written, or a trace cannot be read.
        """
        index = self.folder / INDEX
        with _told(self.folder / EPISODES):
            # Empty folders do not survive every way of copying.
            (self.folder / EPISODES).mkdir(exist_ok=True)
        lines: dict[str, Line] = {}
        known = run_index.read(index)
        attempts = list(self._scan(known, lines))
        if lines != known or (index.exists() and not index.read_bytes().endswith(b"\n")):
            self._write_index(lines)
        return attempts

    def _write_index(self, lines: Mapping[str, Line]) -> None:
        write_aside(self.folder / INDEX, b"".join(run_index.whole(lines)))

    def _files(self) -> list[os.DirEntry[str]]:
        """The trace files, by name."""
        try:
            with os.scandir(self.folder / EPISODES) as found:
                entries = [entry for entry in found if entry.name.endswith(".jsonl")]
        except FileNotFoundError:
            return []
        return sorted(entries, key=lambda entry: entry.name)


def _line(path: Path) -> Line | None:
    """What the trace in a file comes to; None where it has not begun."""
    with _told(path):
        stat = path.stat()
    trace = read_trace(path)
    if not trace.events:
        return None
    return Line(stat.st_size, stat.st_mtime_ns, Attempt.of(path.name, trace))


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Be the one process that plays in `folder`, until the context is left or the process ends.

    Raises:
        StoreError: another process plays there.
    """
    path = folder / LOCK
    with _told(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _locked(descriptor):
            raise StoreError(
                f"{folder} is being played by another process; wait for its end or stop it"
            )
        yield
    finally:
        os.close(descriptor)


def _object(text: bytes) -> dict[str, Any]:
    loaded = json.loads(text)
    if not isinstance(loaded, dict):
        raise TypeError("it is no JSON object")
    return loaded


def _no_run(folder: Path) -> str:
    """Why a folder is no run, and what to give instead."""
    if not folder.exists():
        return f"there is no folder {folder}; give the one that `toolhop run` printed"
    within = sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}"))
    if within:
        told = ", ".join(within[:LISTED]) + (" and others" if len(within) > LISTED else "")
        return f"{folder} is no run, but a folder of runs: give one of them ({told})"
    return (
        f"{folder} is no run: it has no {MANIFEST}. Give the folder that "
        "`toolhop run` printed, such as logs/2026-01-31T12-00-00_oracle"
    )


def _locked(descriptor: int) -> bool:
    """Whether the lock could be had; a file system that knows no locks gives it to everyone."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise
    return True


def read_trace(path: Path) -> Trace:
    """The trace in a file.

    Raises:
        StoreError: it is none.
    """
    try:
        with path.open("rb") as file:
            return from_lines(file)
    except (OSError, TraceError) as error:
        raise StoreError(f"{path} cannot be read as a trace: {error}") from error


def file_name(name: str) -> str:
    """`name` as a file's name: unsafe letters replaced, and then told apart by a hash."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100]
    if plain == name and re.match(r"[A-Za-z0-9]", name):
        return name
    return f"{plain.lstrip('.')}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def write_aside(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    with _told(path), aside(path) as beside:
        beside.write_bytes(content)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What the system refuses is told as a `StoreError`."""
    try:
        yield
    except OSError as error:
        fix = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "see the folder"
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}; {fix}, or pass another --log-dir"
        ) from error


def _append(descriptor: int, line: bytes, *, sync: bool) -> None:
    """Add a line, or nothing: a part of one that did not fit is taken away again.

    `sync` has it on the disk before this returns; a line that the disk refuses then goes as well.
    """
    before = os.lseek(descriptor, 0, os.SEEK_END)
    try:
        view = memoryview(line)
        while view:
            view = view[os.write(descriptor, view) :]
        if sync:
            os.fsync(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, before)
        raise


def fresh_folder(log_dir: Path, name: str, *inside: str) -> Path:
    """Make a new folder `name` below `log_dir`, with a number where it is taken.

    Args:
        log_dir: made as well where it is not there.
        name: of the folder.
        inside: names of empty folders in it.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
        for number in range(1, 10_000):
            folder = log_dir / (name if number == 1 else f"{name}-{number}")
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            for one in inside:
                (folder / one).mkdir()
            return folder
    except OSError as error:
        raise StoreError(
            f"no folder can be made in {log_dir}: {error}; pass another --log-dir"
        ) from error
    raise StoreError(f"there are 9,999 folders named {name} in {log_dir}; pass another --log-dir")
