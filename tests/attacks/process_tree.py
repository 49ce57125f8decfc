"""What the kernel says of the processes of this machine."""

from __future__ import annotations

import contextlib
from pathlib import Path


def children(pid: int) -> list[int]:
    """Living children of all threads of a process.

    Not those that ended and wait to be reaped: the worker does that when it next hears of the
    host, and what stood ready ahead of a call may end by itself before.
    """
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return [one for one in found if lives(one)]


def lives(pid: int) -> bool:
    """Whether a process runs: it is there, and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


def is_worker(pid: int) -> bool:
    """Whether a process is one of a worker in the process sandbox."""
    try:
        return b"zygote" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
