"""Files of a run's folder: locked, named, replaced in one step."""

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
"""Runs that are named where a folder of runs is given for one."""


class StoreError(Exception):
    """A run folder that cannot be made or read; says which, and what to do."""


@contextmanager
def held(folder: Path, doing: str = "played") -> Iterator[None]:
    """Be the one process that works in `folder`, until the context is left or the process ends.

    Args:
        folder: exists.
        doing: what is done with it, for the message.

    Raises:
        StoreError: another process works there.
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
    """What is in a folder inside a run's; nothing where it is not there.

    Raises:
        StoreError: it cannot be read, or is a link: it would lead out of the run.
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
    """See that a folder inside another is no link: it would lead out of it.

    Raises:
        StoreError: it is one.
    """
    if folder.is_symlink():
        raise StoreError(f"{folder} is a symbolic link; put the folder itself there")


def file_name(name: str) -> str:
    """`name` as a file's name: unsafe letters replaced, and then unique by a hash."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100]
    if plain == name and re.match(r"[A-Za-z0-9]", name):
        return name
    return f"{plain.lstrip('.')}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    with reported(path), atomic(path) as beside:
        beside.write_bytes(content)


def sync_folder(folder: Path) -> None:
    """Have a folder's names on the disk: what was made, renamed or removed in it."""
    with reported(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """What the system refuses is reported as a `StoreError`."""
    try:
        yield
    except OSError as error:
        fix = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "see the folder"
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}; {fix}, or pass another --log-dir"
        ) from error


def fresh_folder(log_dir: Path, name: str, *inside: str) -> Path:
    """Make a new folder `name` below `log_dir`, with a number where it is taken.

    Args:
        log_dir: made as well where it is not there.
        name: of the folder.
        inside: names of empty folders in it.

    Raises:
        StoreError: it cannot be made.
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
    """Why a folder is not a run, and what to give instead."""
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
