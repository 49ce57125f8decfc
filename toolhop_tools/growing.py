"""A file that grows by whole lines, and that one process writes at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os


def locked(descriptor: int) -> bool:
    """Whether the lock could be had; a file system that knows no locks gives it to everyone."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise
    return True


def append(descriptor: int, line: bytes, *, sync: bool) -> None:
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
