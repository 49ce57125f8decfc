"""Open untrusted files safely: only regular files.

Opening a pipe does not block, devices are not read, links inside a folder are not followed, and
files larger than `LARGEST` are not read whole. Use this module for files in any folder that may
come from someone else.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

LARGEST = 1 << 30
"""Maximum size of a file that is read whole, or of its unpacked content: 1 GiB."""
_REASONS = {
    errno.ELOOP: "it is a symbolic link, and links inside a folder are not followed; put the file "
    "itself there",
    errno.ENOTDIR: "its folder is none, or a symbolic link; put the folder itself there",
    errno.ENXIO: "it is a pipe or a socket, not a file",
}


def descriptor(path: Path, flags: int = os.O_RDONLY, *, below: int = 1) -> int:
    """Open a regular file with `os.open`; the caller closes the descriptor.

    Args:
        path: the file.
        flags: as in `os.open`.
        below: number of trailing components of `path` that must not be links: 1 for a file in a
            given folder, 2 for a file in a subfolder of it, 0 for a file given directly.

    Raises:
        OSError: the file is missing, is not regular, is behind a link, or is too large.
    """
    try:
        opened = _opened(path, flags | os.O_NONBLOCK, below)
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or error.strerror
        raise OSError(error.errno, reason, str(path)) from None
    found = os.fstat(opened)
    is_regular = stat.S_ISREG(found.st_mode)
    if is_regular and found.st_size <= LARGEST:
        return opened
    os.close(opened)
    large = f"it has {found.st_size:,} bytes, and at most {LARGEST:,} are read"
    reason = large if is_regular else "it is not a regular file"
    raise OSError(errno.EINVAL, reason, str(path))


def _opened(path: Path, flags: int, below: int) -> int:
    if not below:
        return os.open(path, flags, 0o644)
    *folders, name = path.parts[-below:]
    base = os.open(path.parents[below - 1], os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=base)
            os.close(base)
            base = inner
        return os.open(name, flags | os.O_NOFOLLOW, 0o644, dir_fd=base)
    finally:
        os.close(base)


def reading(path: Path, *, below: int = 1) -> BinaryIO:
    """Open a file for reading; see `descriptor`."""
    return open(descriptor(path, below=below), "rb")


def content(path: Path, *, below: int = 1) -> bytes:
    """Return the content of a file; see `descriptor`."""
    with reading(path, below=below) as file:
        return file.read()
