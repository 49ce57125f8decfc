"""Segments in an object store: moved only when they are there whole, and read from there."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.env.test_packing import (
    FEW,
    BrokenDisk,
    KillingDisk,
    contents,
    filled,
    killed,
    names,
    state,
)
from tests.serving import Exchange, Server
from toolhop_env.extras import install_command
from toolhop_env.runs import elsewhere
from toolhop_env.runs.elsewhere import Elsewhere, checked_url
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.packing import Disk, Packer, move, pack
from toolhop_env.runs.segments import segments
from toolhop_env.runs.store import RunStore

fsspec = pytest.importorskip("fsspec")
memory = pytest.importorskip("fsspec.implementations.memory")


class FlakyStore(memory.MemoryFileSystem):  # type: ignore[name-defined,misc]  # no types
    """An object store in memory, in which uploads break off or arrive cut short."""

    protocol = "flaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    break_at = -1
    """The upload that breaks off half-way, from 0; none where negative."""
    cut_at = -1
    """The upload that arrives as a half, and says nothing."""
    uploads = 0
    read: ClassVar[list[tuple[int | None, int | None]]] = []

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **more: object) -> None:
        number, FlakyStore.uploads = FlakyStore.uploads, FlakyStore.uploads + 1
        half = number in (self.break_at, self.cut_at)
        super().pipe_file(path, value[: len(value) // 2] if half else value, mode, **more)
        if number == self.break_at:
            raise ConnectionError("the line broke")

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **more: object
    ) -> bytes:
        self.read.append((start, end))
        return bytes(super().cat_file(path, start, end, **more))


@pytest.fixture(autouse=True)
def _emptied() -> Iterator[None]:
    fsspec.register_implementation("flaky", FlakyStore, clobber=True)
    for system in (memory.MemoryFileSystem, FlakyStore):
        system.store.clear()
    FlakyStore.break_at = FlakyStore.cut_at = -1
    FlakyStore.uploads = 0
    FlakyStore.read.clear()
    yield
    memory.MemoryFileSystem.store.clear()


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    store = filled(RunStore.create(tmp_path, "run", {"format": 3}))
    pack(store, FEW)
    return store


def left_here(store: RunStore) -> list[str]:
    return [one.name for one in segments(store.folder) if one.path.exists()]


@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_what_is_moved_reads_as_before(scheme: str, store: RunStore, tmp_path: Path) -> None:
    before, listed = state(store), names(store)
    url = f"{scheme}://{tmp_path / 'far'}"
    assert move(store, url) == len(listed) == 3
    assert not left_here(store)
    assert names(store) == listed
    assert state(store) == before
    where = [one.moved().url for one in segments(store.folder)]
    assert where == [f"{url}/run/{name}.traces.jsonl.gz" for name in listed]
    assert move(store, url) == 0
    for one in segments(store.folder):
        one.index.unlink()
    assert state(store) == before, "the index is made again from there"


def test_one_trace_fetches_its_own_bytes_alone(store: RunStore) -> None:
    move(store, "flaky://far")
    wanted = [one for one in store.attempts() if one.place][4]
    FlakyStore.read.clear()
    assert store.trace(wanted).started.episode == wanted.episode
    assert wanted.place
    start = wanted.place.offset
    assert FlakyStore.read == [(start, start + wanted.place.length)]


@pytest.mark.parametrize("how", ["break_at", "cut_at"])
@pytest.mark.parametrize("upload", [0, 1, 2])
def test_an_upload_that_fails_leaves_the_segment_here(
    how: str, upload: int, store: RunStore
) -> None:
    before, listed = state(store), names(store)
    setattr(FlakyStore, how, upload)
    says = "ConnectionError: the line broke" if how == "break_at" else "the traces stay here"
    with pytest.raises(StoreError, match=says):
        move(store, "flaky://far")
    assert left_here(store) == listed[upload:]
    assert state(store) == before
    assert move(store, "flaky://far") == 3 - upload
    assert not left_here(store)
    assert state(store) == before


def fails(store: RunStore, url: str, steps: int) -> bool:
    """Whether moving breaks at a step; the process lives."""
    try:
        move(store, url, disk=BrokenDisk(steps))
    except StoreError:
        return True
    return False


def dies(store: RunStore, url: str, steps: int) -> bool:
    """The same in a process that is killed there."""
    return killed(lambda: move(store, url, disk=KillingDisk(steps)))


@pytest.mark.parametrize("how", [fails, dies])
def test_cut_at_any_step_of_moving_nothing_is_lost(
    how: Callable[[RunStore, str, int], bool], tmp_path: Path
) -> None:
    cuts, url = 0, f"file://{tmp_path / 'far'}"
    for steps in range(14):
        store = filled(RunStore.create(tmp_path, "run", {"format": 3}))
        pack(store, FEW)
        before = state(store)
        cuts += how(store, url, steps)
        assert state(store) == before
        with store.held():
            store.repair_index()
            move(store, url)
        assert not left_here(store)
        assert state(store) == before
    assert cuts == 3 * 4, "of each segment: upload, pointer, folder, file"


def test_the_packer_moves_everything_finished_at_the_end(tmp_path: Path) -> None:
    store = filled(RunStore.create(tmp_path, "run", {"format": 3}))
    before = state(store)
    with store.held(), Packer(store, FEW, "memory://far") as packer:
        packer.close()
    assert packer.fault == ""
    assert len(list((store.folder / "episodes").iterdir())) == 2
    assert not left_here(store)
    assert state(store) == before


def test_a_store_that_fails_stops_no_run_and_is_tried_again(tmp_path: Path) -> None:
    store = filled(RunStore.create(tmp_path, "run", {"format": 3}))
    before = state(store)
    with store.held(), Packer(store, FEW, "nowhere://far") as packer:
        packer.close()
    assert "nowhere://far" in packer.fault
    assert len(left_here(store)) == 4
    FlakyStore.break_at = 1
    with store.held(), Packer(store, FEW, "flaky://far") as packer:
        packer.close()
    assert packer.fault == "", "the second try went well"
    assert not left_here(store)
    assert state(store) == before


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_a_web_server_is_read_from(knows_ranges: bool, store: RunStore, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    before = contents(store)
    move(store, f"file://{tmp_path / 'far'}")
    asked: list[str] = []

    def reply(exchange: Exchange) -> None:
        """A file of the folder, by range where the server is of that kind."""
        content = (tmp_path / "far" / "run" / exchange.path.rpartition("/")[2]).read_bytes()
        wanted = exchange.headers.get("Range", "")
        asked.append(wanted)
        if wanted and knows_ranges:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            exchange.send(content[int(first) : int(last) + 1], 206)
        else:
            exchange.send(content)

    with Server(reply) as server:
        for one in segments(store.folder):
            url = f"{server.base_url}/{one.path.name}"
            one.pointer.write_bytes(elsewhere.to_text(replace(one.moved(), url=url)))
        assert contents(store) == before
        asked.clear()
        wanted = [one for one in store.attempts() if one.place][4]
        assert store.trace(wanted).started.episode == wanted.episode
        assert wanted.place
        start = wanted.place.offset
        assert asked == [f"bytes={start}-{start + wanted.place.length - 1}"]


def test_what_is_gone_from_there_is_told(store: RunStore) -> None:
    move(store, "memory://far")
    memory.MemoryFileSystem.store.clear()
    with pytest.raises(StoreError, match=r"memory://far/run/.* cannot be read: FileNotFoundError"):
        list(store.traces())
    assert len(list(store.attempts())) == 12, "the index is here"
    pointer = segments(store.folder)[0].pointer
    pointer.write_text(json.dumps({"url": 1}))
    with pytest.raises(StoreError, match="does not say where the traces are"):
        list(store.traces())


def test_what_is_other_there_than_it_was_is_told(store: RunStore) -> None:
    move(store, "memory://far")
    place = segments(store.folder)[0].moved()
    (file,) = (one for name, one in memory.MemoryFileSystem.store.items() if place.url[9:] in name)
    file.seek(place.size - 1)
    file.write(b"x")
    with pytest.raises(StoreError, match="is not what was put there: its SHA-256 differs"):
        list(store.traces())


@pytest.mark.parametrize(
    "text", ["s3://key:secret@bucket/runs", "https://h/runs?sig=abc", "sftp://me@host/x"]
)
def test_credentials_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="would stand in the manifest") as refused:
        checked_url(text)
    assert "secret" not in str(refused.value)
    assert "abc" not in str(refused.value)


@pytest.mark.parametrize("text", ["runs", "/far/runs", "simplecache::s3://bucket", ""])
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no URL of a folder"):
        checked_url(text)


@pytest.mark.parametrize("text", ["file://", "file:///", "s3://", "memory://far", "data:x"])
def test_what_would_lose_segments_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"names no folder|keeps nothing"):
        checked_url(text)


def test_a_url_is_kept_without_its_last_slash() -> None:
    assert checked_url("s3://bucket/runs/") == "s3://bucket/runs"


def test_without_fsspec_the_package_is_named(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    move(store, "memory://far")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(StoreError, match=re.escape(f"not installed: {install_command('fsspec')}")):
        list(store.traces())
    assert len(list(store.attempts())) == 12


def test_a_store_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x")
    with pytest.raises(StoreError, match=r"nowhere://far.*cannot be used: .*nowhere"):
        Disk().put(path, "nowhere://far/x")
    with pytest.raises(StoreError, match="cannot be used"):
        elsewhere.fetched(Elsewhere("nowhere://far/x", 1, ""))
