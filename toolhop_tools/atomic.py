"""A file that is there whole or not at all: written aside, then renamed.

A file aside is locked by the process that writes it. One that nobody locks was left by a process
that was killed: whoever writes the same file next takes it away.
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
    """A path beside `path` to write to; what is there at the end becomes `path` in one step.

    Where the block raises, nothing is left of it and `path` stays as it was. Texts are redacted,
    unless they have to be kept `as_is`.

    Raises:
        OSError: it cannot be written.
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
    """A descriptor that locks the new file, as far as the file system knows locks."""
    while True:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        # Taken away between the two steps, by a process that swept.
        os.close(descriptor)


def _sweep(path: Path) -> None:
    """Take away what killed processes left of `path`; what cannot be taken away stays."""
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
