"""A run's folder: what was asked for, what was played, and one trace file an episode.

    manifest.json        settings, versions, data, sandbox, status; written aside, renamed
    items.jsonl          the items as played, in ToolHop's row format: the folder stands alone
    episodes/NAME.jsonl  a trace, appended event by event, synced when the episode has ended

An episode is finished where its file's last line is `ended`. So a kill at any moment loses no
finished episode, and one that was cut off is seen to be.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from env.episode import Sink
from env.trace import Ended, Event, Trace, TraceError, from_lines, to_line
from sandbox.outcome import JSON
from toolhop_tools.model import DataSet, Item
from toolhop_tools.official import to_rows

MANIFEST = "manifest.json"
ITEMS = "items.jsonl"
EPISODES = "episodes"


class StoreError(Exception):
    """A run folder that cannot be made or read; says which, and what to do."""


@dataclass(frozen=True, slots=True)
class RunStore:
    """A run's folder on disk."""

    folder: Path

    @classmethod
    def create(cls, log_dir: Path, name: str, manifest: Mapping[str, JSON]) -> RunStore:
        """Make a new folder `name` below `log_dir`, with a number added where it is taken.

        Raises:
            StoreError: it cannot be written.
        """
        try:
            folder = _fresh(log_dir, name)
            (folder / EPISODES).mkdir()
        except OSError as error:
            raise StoreError(
                f"no run folder can be made in {log_dir}: {error}; pass another --log-dir"
            ) from error
        store = cls(folder)
        store.write_manifest(manifest)
        return store

    @classmethod
    def open(cls, folder: Path) -> RunStore:
        """An existing run.

        Raises:
            StoreError: `folder` holds none.
        """
        if not (folder / MANIFEST).is_file():
            raise StoreError(
                f"{folder} is no run: it has no {MANIFEST}. Give the folder that "
                "`toolhop run` printed, such as logs/2026-01-31T12-00-00_oracle"
            )
        return cls(folder)

    @property
    def manifest(self) -> dict[str, Any]:
        """What `write_manifest` wrote last.

        Raises:
            StoreError: it cannot be read.
        """
        try:
            loaded: dict[str, Any] = json.loads((self.folder / MANIFEST).read_bytes())
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.folder / MANIFEST} cannot be read: {error}") from error
        return loaded

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

    @contextmanager
    def sink(self, name: str) -> Iterator[Sink]:
        """Where the events of episode `name` go. The file is synced once `ended` is in it.

        Raises:
            StoreError: when an event cannot be written (a full disk); the run must stop. The
                file keeps the events before it, whole.
        """
        path = self.folder / EPISODES / f"{file_name(name)}.jsonl"
        with _told(path):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

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
        for path in sorted((self.folder / EPISODES).glob("*.jsonl")):
            trace = read_trace(path)
            if trace.events:
                yield trace


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
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with _told(path):
        try:
            with aside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        except OSError:
            aside.unlink(missing_ok=True)
            raise


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


def _fresh(log_dir: Path, name: str) -> Path:
    log_dir.mkdir(parents=True, exist_ok=True)
    for number in range(1, 10_000):
        folder = log_dir / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise OSError(f"there are 9,999 runs named {name}")
