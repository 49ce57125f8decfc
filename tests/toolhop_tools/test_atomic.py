"""Files that are there whole or not at all."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.waiting import CEILING_S
from toolhop_env.runs.files import StoreError, write_atomic
from toolhop_tools.atomic import atomic

HANGS = """
import sys, time
from pathlib import Path
from toolhop_tools.atomic import atomic
with atomic(Path(sys.argv[1])) as beside:
    beside.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def hanging(path: Path) -> subprocess.Popen[str]:
    """A process that has written a half of `path`."""
    child = subprocess.Popen(
        [sys.executable, "-c", HANGS, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "writing\n"
    return child


def ended(child: subprocess.Popen[str]) -> None:
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()


def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    child = hanging(path)
    ended(child)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    write_atomic(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "new"


def test_what_a_living_process_writes_stays(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    child = hanging(path)
    try:
        write_atomic(path, b"new")
        assert {entry.name for entry in tmp_path.iterdir()} == {
            "page.html",
            f".page.{child.pid}.html",
        }
    finally:
        ended(child)


def test_files_of_other_names_stay(tmp_path: Path) -> None:
    names = (".page.7.html", ".page.x.html", ".page.7.htm", ".other.7.html", "page.7.html")
    for name in names:
        (tmp_path / name).write_text("")
    write_atomic(tmp_path / "page.html", b"new")
    assert {entry.name for entry in tmp_path.iterdir()} == {"page.html", *names[1:]}


def test_a_block_that_raises_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")

    def breaks() -> None:
        with atomic(path) as beside:
            beside.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        breaks()
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "old"


def test_a_file_that_is_swept_before_it_is_locked_is_made_again(tmp_path: Path) -> None:
    """Another process may lock and remove the new file before its writer has the lock."""
    beside = tmp_path / f".page.{os.getpid()}.html"
    beside.write_text("")
    other = os.open(beside, os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    done = threading.Thread(target=write_atomic, args=(tmp_path / "page.html", b"new"))
    done.start()
    done.join(0.2)
    assert done.is_alive()
    beside.unlink()
    os.close(other)
    done.join(CEILING_S)
    assert (tmp_path / "page.html").read_bytes() == b"new"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        write_atomic(tmp_path / "nowhere" / "page.html", b"new")
