"""Append-only files of whole lines with a single writer at a time."""

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
    """Take an exclusive lock; False if another process has it.

    On a file system without locks this always succeeds.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise
    return True


def append(descriptor: int, line: bytes, *, sync: bool) -> None:
    """Append a redacted line, or nothing: a partly written line is removed.

    With `sync`, the line is on disk on return; if that fails, it is removed as well.
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
    """Return the end of the last whole line, and any fragment after it left by a killed writer."""
    with open(descriptor, "rb", closefd=False) as file:
        file.seek(0)
        whole, end, piece = file.read().rpartition(b"\n")
    return len(whole) + len(end), piece


class RowFile(ABC):
    """A file of JSON rows that is read whole and then appended to.

    A kill leaves at most one unfinished line. It is ignored, and removed before the next append.
    """

    fault: ClassVar[type[ToolsError]]
    """Exception class to raise."""
    wanted: ClassVar[str]
    """Description of a valid line, for error messages."""

    def __init__(self, path: Path) -> None:
        """Read the existing rows; a missing file counts as empty.

        Raises:
            ToolsError: as `fault`: the file cannot be read, or a line is not valid.
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
        """Store a row in memory. Raises `KeyError`, `TypeError` or `ValueError` if invalid."""

    def open(self, *, lock: bool = False) -> None:
        """Open the file for appending.

        Args:
            lock: whether to exclude other processes that also lock.

        Raises:
            ToolsError: as `fault`: the file cannot be written, or another process is writing it.
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
        """Append a row and store it in memory; it is on disk on return.

        Raises:
            ToolsError: as `fault`: the file cannot be written.
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
