"""A file that grows by whole lines, and that one process writes at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from toolhop_sandbox.outcome import JSON
from toolhop_tools import regular
from toolhop_tools.errors import ToolsError
from toolhop_tools.secrets import redacted_bytes


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
    """Add a line, redacted, or nothing: a part of one that did not fit is taken away again.

    `sync` has it on the disk before this returns; a line that the disk refuses then goes as well.
    """
    before = os.lseek(descriptor, 0, os.SEEK_END)
    try:
        view = memoryview(redacted_bytes(line))
        while view:
            view = view[os.write(descriptor, view) :]
        if sync:
            os.fsync(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, before)
        raise


def last_end(descriptor: int) -> tuple[int, bytes]:
    """Where the last whole line ends, and the piece behind it that a kill may have left."""
    with open(descriptor, "rb", closefd=False) as file:
        file.seek(0)
        whole, end, piece = file.read().rpartition(b"\n")
    return len(whole) + len(end), piece


class RowFile(ABC):
    """A file of JSON rows, read at once and then added to.

    A kill leaves at most one line without its end. It is passed over, and taken away before more
    is added.
    """

    fault: ClassVar[type[ToolsError]]
    """What is raised."""
    wanted: ClassVar[str]
    """What a line has to be, in words."""

    def __init__(self, path: Path) -> None:
        """Read what is there; a file that does not exist is empty.

        Raises:
            ToolsError: as `fault`: it cannot be read, or has a line that does not fit.
        """
        self.path = path
        self._descriptor = -1
        try:
            whole, end, _ = (regular.content(path) if path.exists() else b"").rpartition(b"\n")
        except OSError as error:
            raise self._cannot("read", error) from None
        self._size = len(whole) + len(end)
        for number, line in enumerate(whole.split(b"\n") if end else (), 1):
            try:
                self.take(json.loads(line))
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                raise self.fault(
                    f"{path}: line {number} is {self.wanted}\n"
                    "  fix: take the line out; what it held is asked for again"
                ) from None

    @abstractmethod
    def take(self, row: dict[str, Any]) -> None:
        """Keep a row in memory; raises `KeyError`, `TypeError` or `ValueError` if it does not
        fit.
        """

    def open(self, *, lock: bool = False) -> None:
        """Have rows added.

        Args:
            lock: whether no other process may have it open so.

        Raises:
            ToolsError: as `fault`: it cannot be written, or another process writes it.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._descriptor = regular.descriptor(self.path, flags)
            if lock and not locked(self._descriptor):
                raise self.fault(f"{self.path} is being written by another process\n  fix: wait")
            os.ftruncate(self._descriptor, self._size)
        except OSError as error:
            raise self._cannot("written", error) from None

    def append(self, row: Mapping[str, JSON]) -> None:
        """Write a row; it is on the disk when this returns.

        Raises:
            ToolsError: as `fault`: it cannot be written.
        """
        line = json.dumps(row, ensure_ascii=False) + "\n"
        try:
            append(self._descriptor, line.encode("utf-8", "backslashreplace"), sync=True)
        except OSError as error:
            raise self._cannot("written", error) from None
        self.take(dict(row))

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def _cannot(self, what: str, error: OSError) -> ToolsError:
        return self.fault(f"{self.path} cannot be {what}: {error.strerror or error}")
