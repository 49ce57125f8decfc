"""Packing of a large run's finished episodes into segments, by the process that holds the run.

Segments are made one at a time, in steps between which the process may be killed:

    1. the traces are written to a temporary file, synced, and renamed: they are packed
    2. the segment's index is written likewise; it is derived, and rebuilt if lost
    3. the trace files are removed
    4. their lines are removed from the index of unpacked files

From step 1 on, a trace that still has a file counts once, as packed. Whatever is left of steps 3
and 4 is done before the run is played again (`RunStore.repair_index`).

An episode is packed with all its attempts, once one of them has a score. An episode that is
running, cut off or errored stays unpacked, as its next attempt reads it.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Self

from toolhop_env.attempt import Key
from toolhop_env.runs import catalog, elsewhere
from toolhop_env.runs import index as run_index
from toolhop_env.runs.files import (
    EPISODES,
    SEGMENTS,
    StoreError,
    file_name,
    reported,
    sync_folder,
    write_atomic,
)
from toolhop_env.runs.index import INDEX, IndexLine
from toolhop_env.runs.segments import next_segment, packed, segments
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Errored
from toolhop_tools import regular


@dataclass(frozen=True, slots=True)
class Packing:
    """When finished episodes are packed, and how many at a time."""

    begin: int = 2_000
    """Minimum number of finished, unpacked traces. A run with fewer is never packed."""
    traces: int = 1_000
    """Number of traces per segment; the newest `begin - traces` or more stay unpacked."""
    size: int = 64 << 20
    """Maximum size of a segment's traces before packing, in bytes; a single trace may be larger."""


PACKING = Packing()


class Disk:
    """The disk operations of packing. Tests replace it to inject failures."""

    def write(self, path: Path, content: bytes) -> None:
        """Replace a file atomically."""
        write_atomic(path, content)

    def sync(self, folder: Path) -> None:
        """See `sync_folder`."""
        sync_folder(folder)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        with reported(path):
            path.unlink(missing_ok=True)

    def put(self, path: Path, url: str) -> elsewhere.Elsewhere:
        """See `elsewhere.put`."""
        return elsewhere.put(path, url)


DISK = Disk()


def pack(
    store: RunStore,
    packing: Packing | None = None,
    *,
    all_left: bool = False,
    stop: Event | None = None,
    disk: Disk = DISK,
) -> int:
    """Pack finished episodes while there are enough; return the number of traces packed.

    The caller must hold the run.

    Args:
        store: the run.
        packing: thresholds; None for the defaults.
        all_left: whether to pack whatever is finished, however little.
        stop: once set, no further segment is begun.
        disk: the disk operations.

    Raises:
        StoreError: a step failed. Nothing is lost, and the next call continues from there.
    """
    packing = packing or PACKING
    least = 1 if all_left else packing.begin
    groups = _finished(store)
    left = sum(map(len, groups))
    done: list[str] = []
    try:
        for batch in _batches(groups, packing):
            if left < least or (stop is not None and stop.is_set()):
                break
            _seal(store.folder, batch, disk)
            done += [line.attempt.file for line in batch]
            left -= len(batch)
    finally:
        if done:
            run_index.take_out(store.folder / INDEX, frozenset(done), disk.write)
    return len(done)


def _finished(store: RunStore) -> list[list[IndexLine]]:
    """Return the traces that may be packed: all attempts of each episode with a score, by name.

    Traces that the index lacks, or that have changed since, wait until it is up to date.
    """
    groups: dict[Key, list[IndexLine]] = defaultdict(list)
    known = run_index.read(store.folder / INDEX)
    for name, entry in catalog.files(store.folder).items():
        line = known.get(name)
        with contextlib.suppress(FileNotFoundError):
            if line is not None and _as_written(line, entry.stat(follow_symlinks=False)):
                groups[line.attempt.key].append(line)
    scored = (group for group in groups.values() if any(_has_score(one) for one in group))
    return [*scored]


def _as_written(line: IndexLine, stat: os.stat_result) -> bool:
    # A packed trace has its episode's name only, so a file with another name stays.
    own_name = line.attempt.file == f"{file_name(line.attempt.episode)}.jsonl"
    return own_name and (line.size, line.mtime_ns) == (stat.st_size, stat.st_mtime_ns)


def _has_score(line: IndexLine) -> bool:
    return not isinstance(line.attempt.verdict, Errored)


def _batches(groups: Sequence[list[IndexLine]], packing: Packing) -> Iterator[list[IndexLine]]:
    batch: list[IndexLine] = []
    size = 0
    for group in groups:
        batch += group
        size += sum(line.size for line in group)
        if len(batch) >= packing.traces or size >= packing.size:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _seal(run: Path, batch: Sequence[IndexLine], disk: Disk) -> None:
    """Pack files into one segment, and remove them."""
    paths = [run / EPISODES / line.attempt.file for line in batch]
    with reported(run / SEGMENTS):
        (run / SEGMENTS).mkdir(exist_ok=True)
        contents = [regular.content(path, below=2) for path in paths]
    content, places = packed(contents)
    segment = next_segment(run, content)
    disk.write(segment.path, content)
    disk.sync(segment.folder)
    disk.sync(run)
    lines = [
        replace(line, mtime_ns=0, attempt=replace(line.attempt, place=segment.place(*place)))
        for line, place in zip(batch, places, strict=True)
    ]
    disk.write(segment.index, segment.content_of_index(lines))
    for path in paths:
        disk.remove(path)


def move(store: RunStore, url: str, *, stop: Event | None = None, disk: Disk = DISK) -> int:
    """Move local segments to a location below `url`, and return the number moved.

    The caller must hold the run.

    Args:
        store: the run.
        url: a URL from `elsewhere.checked_url`; a folder with the run's name is created there.
        stop: once set, no further segment is moved.
        disk: the disk operations.

    Raises:
        StoreError: a segment could not be moved; it and later ones are still here.
    """
    moved = 0
    for segment in segments(store.folder):
        if stop is not None and stop.is_set():
            break
        if segment.path.exists():
            if not segment.pointer.exists():
                place = disk.put(segment.path, f"{url}/{store.folder.name}/{segment.path.name}")
                disk.write(segment.pointer, elsewhere.to_text(place))
                disk.sync(segment.folder)
            disk.remove(segment.path)
            moved += 1
    return moved


class Packer:
    """Packs in a separate thread while a run is played.

    A failure does not stop the run: episodes stay unpacked, or segments local, until the next
    attempt, which follows after another segment's worth of episodes and at the end.
    """

    def __init__(
        self, store: RunStore, packing: Packing | None = None, url: str | None = None
    ) -> None:
        """Start the thread; segments are moved to `url`, or stay here if it is None."""
        self._store, self._packing, self._url = store, packing or PACKING, url
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="packing")
        self._under_way: Future[None] | None = None
        self._finished = 0
        self._stop = Event()
        self.fault = ""
        """Why the last attempt packed or moved too little; empty if it did not."""
        self._begin()  # left by an earlier session or version

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close(at_once=True)

    def finished(self) -> None:
        """Note that an attempt was added to the index."""
        self._finished += 1
        if self._finished >= self._packing.traces and self._is_idle:
            self._begin()

    @property
    def _is_idle(self) -> bool:
        return self._under_way is None or self._under_way.done()

    def _begin(self, *, all_left: bool = False) -> None:
        self._finished = 0
        self._under_way = self._thread.submit(self._pack, all_left=all_left)

    def _pack(self, *, all_left: bool) -> None:
        try:
            pack(self._store, self._packing, all_left=all_left, stop=self._stop)
            if self._url is not None:
                move(self._store, self._url, stop=self._stop)
            self.fault = ""
        except StoreError as error:
            self.fault = str(error)
        except Exception as error:  # noqa: BLE001 -- a bug: the run goes on, and says so at its end
            self.fault = f"{type(error).__name__}: {error}"

    def close(self, *, at_once: bool = False) -> None:
        """Wait for the work in progress.

        Args:
            at_once: whether to start nothing new. Otherwise, if segments are moved elsewhere,
                everything finished is packed too.
        """
        if at_once:
            self._stop.set()
        else:
            self._begin(all_left=self._url is not None)
        self._thread.shutdown(wait=True)
