"""Files in a run's folder: locking, naming, atomic replacement."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolhop_tools import regular
from toolhop_tools.atomic import atomic
from toolhop_tools.growing import locked

MANIFEST = "manifest.json"
EPISODES = "episodes"
SEGMENTS = "segments"
LOCK = "lock"
LISTED = 5
"""Maximum number of runs named in a message if a folder of runs is given instead of a run."""


class StoreError(Exception):
    """A run folder cannot be created or read; the message says which, and how to fix it."""


@contextmanager
def held(folder: Path, doing: str = "played") -> Iterator[None]:
    """Lock `folder` for this process until the context exits or the process ends.

    Args:
        folder: an existing folder.
        doing: past participle for what happens to the folder, used in the message.

    Raises:
        StoreError: another process holds the lock.
    """
    path = folder / LOCK
    for name in (EPISODES, SEGMENTS):
        check_own(folder / name)
    with reported(path):
        descriptor = regular.descriptor(path, os.O_RDWR | os.O_CREAT)
    try:
        if not locked(descriptor):
            raise StoreError(
                f"{folder} is being {doing} by another process; wait for its end or stop it"
            )
        yield
    finally:
        os.close(descriptor)


def entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder inside a run's folder; empty if it does not exist.

    Raises:
        StoreError: it cannot be read, or is a symbolic link, which would lead out of the run.
    """
    check_own(folder)
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {error.strerror}") from error


def check_own(folder: Path) -> None:
    """Check that a folder inside another is not a symbolic link, which would lead out of it.

    Raises:
        StoreError: it is a symbolic link.
    """
    if folder.is_symlink():
        raise StoreError(f"{folder} is a symbolic link; put the folder itself there")


def file_name(name: str) -> str:
    """Return a file name for `name`; if unsafe characters are replaced, a hash keeps it unique."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100]
    if plain == name and re.match(r"[A-Za-z0-9]", name):
        return name
    return f"{plain.lstrip('.')}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def write_atomic(path: Path, content: bytes) -> None:
    """Replace a file atomically: readers see the old content or the new, never a part."""
    with reported(path), atomic(path) as beside:
        beside.write_bytes(content)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that changes to the names in it are on disk."""
    with reported(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Report operating system errors as `StoreError`."""
    try:
        yield
    except OSError as error:
        fix = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "see the folder"
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}; {fix}, or pass another --log-dir"
        ) from error


def fresh_folder(log_dir: Path, name: str, *inside: str) -> Path:
    """Create a new folder `name` in `log_dir`, with a number appended if the name is taken.

    Args:
        log_dir: created if missing.
        name: name of the folder.
        inside: names of empty folders to create in it.

    Raises:
        StoreError: it cannot be created.
    """
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
        for number in range(1, 10_000):
            folder = log_dir / (name if number == 1 else f"{name}-{number}")
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            for one in inside:
                (folder / one).mkdir()
            return folder
    except OSError as error:
        raise StoreError(
            f"no folder can be made in {log_dir}: {error}; pass another --log-dir"
        ) from error
    raise StoreError(f"there are 9,999 folders named {name} in {log_dir}; pass another --log-dir")


def no_run(folder: Path) -> str:
    """Explain why a folder is not a run, and what to give instead."""
    if not folder.exists():
        return f"there is no folder {folder}; give the one that `toolhop run` printed"
    within = sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}"))
    if within:
        named = ", ".join(within[:LISTED]) + (" and others" if len(within) > LISTED else "")
        return f"{folder} is not a run, but a folder of runs: give one of them ({named})"
    return (
        f"{folder} is not a run: it has no {MANIFEST}. Give the folder that "
        "`toolhop run` printed, such as logs/2026-01-31T12-00-00_oracle"
    )
