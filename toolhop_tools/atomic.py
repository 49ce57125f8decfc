"""Atomic file writing: write to a temporary file, then rename it.

The writing process locks its temporary file. An unlocked one was left by a killed process; the next
writer of the same file removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolhop_tools import regular
from toolhop_tools.secrets import redact_file


@contextmanager
def atomic(path: Path, *, as_is: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; its content replaces `path` when the block ends.

    If the block raises, the temporary file is removed and `path` is unchanged. Text is redacted
    unless `as_is`.

    Raises:
        OSError: the file cannot be written.
    """
    _sweep(path)
    beside = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    lock = _taken(beside)
    try:
        yield beside
        if not as_is:
            redact_file(beside)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
        os.close(lock)


def _taken(beside: Path) -> int:
    """Create the temporary file, and lock it if the file system can; return its descriptor."""
    while True:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        # Another process swept the file before it was locked.
        os.close(descriptor)


def _sweep(path: Path) -> None:
    """Remove the temporary files that killed processes left for `path`, as far as possible."""
    left = re.compile(rf"\.{re.escape(path.stem)}\.\d+{re.escape(path.suffix)}")
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(path.parent)):
            if left.fullmatch(entry.name):
                _take_away(entry.path)


def _take_away(name: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = regular.descriptor(Path(name), os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            Path(name).unlink()
        finally:
            os.close(descriptor)
