"""The disk that traces are written to is full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import runs
from toolhop_env.runs.store import RunStore

PLAIN = ("--sandbox", "process")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 400 KiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)]
    mounted = subprocess.run(mount, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_fills_up_ends_the_run_and_keeps_what_is_finished(
    disk: Path, tmp_path: Path
) -> None:
    items = runs.data(tmp_path, 5, pause_s=0)
    run = runs.start(items, disk / "logs", "--epochs", "100", *PLAIN)
    ended = run.end()
    assert ended.code == 1
    assert ended.answer["status"] == "error"
    assert "No space left on device; free some space" in ended.answer["fault"]
    kept = runs.check_whole(run.folder)
    assert kept > 10
    store = RunStore.open(run.folder)
    assert store.manifest["status"] in ("started", "error")
    for path in run.folder.rglob("*"):
        # No half line, and no file that was written aside.
        assert path.is_dir() or path.read_bytes()[-1:] in (b"\n", b""), path
    assert not list(run.folder.glob(".*"))
    assert runs.toolhop("score", "--json", str(run.folder)).returncode in (0, 1)
    assert sum(trace.ended is not None for trace in store.traces()) == kept


def test_a_disk_that_is_full_already_is_told(disk: Path, tmp_path: Path) -> None:
    with (disk / "full").open("wb") as file, pytest.raises(OSError, match="No space"):
        file.write(bytes(1 << 20))
    ended = runs.start(runs.data(tmp_path, 1), disk / "logs", *PLAIN).end()
    assert ended.code == 2
    assert "pass another --log-dir" in ended.said
    assert "No space left on device" in ended.said


def test_a_new_folder_of_items_on_a_full_disk_is_not_there_by_halves(disk: Path) -> None:
    with (disk / "full").open("wb") as file, pytest.raises(OSError, match="No space"):
        file.write(bytes(1 << 20))
    ended = runs.toolhop("data", "new", str(disk / "mine"))
    assert ended.returncode == 2
    assert ended.stderr == (
        f"toolhop: {disk / 'mine'} cannot be written: No space left on device; "
        "name another folder\n"
    )
    assert [path.name for path in disk.iterdir()] == ["full"]
