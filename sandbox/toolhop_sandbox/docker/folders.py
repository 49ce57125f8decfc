"""The folders in which host and containers meet, and their removal when a host was killed.

A worker in a container connects to a socket whose folder is mounted. The folder exists for the
0.2 s of the start only; a host killed in these leaves it behind. Its name tells the owner, so
the next start can remove it and leave those of runs beside it alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from toolhop_sandbox import owner

PREFIX = "toolhop-"
SOCKET = "control.sock"


def prefix() -> str:
    """Beginning of a temporary folder's name that tells its owner."""
    return PREFIX + owner.folder_prefix()


def control_folder() -> Path:
    """A fresh folder to mount, inside one that only this user can enter.

    The path of a Unix socket may have 107 bytes, so it stands directly in a short place.
    """
    private = Path(tempfile.mkdtemp(prefix=prefix(), dir=place()))
    folder = private / "c"
    folder.mkdir()
    # Whatever the umask: the container's user is another one.
    folder.chmod(0o755)
    return folder


def discard(folder: Path) -> None:
    """Remove a folder that `control_folder` made."""
    shutil.rmtree(folder.parent, ignore_errors=True)


def sweep_folders() -> int:
    """Remove this user's folders whose owner has ended; how many there were. Never raises."""
    removed = 0
    places = {place(), Path(tempfile.gettempdir())}
    for folder in (found for one in places for found in one.glob(f"{PREFIX}*.*.*-*")):
        try:
            mine = folder.lstat().st_uid == os.geteuid() and folder.is_dir()
        except OSError:
            continue
        if mine and owner.folder_is_orphaned(folder.name.removeprefix(PREFIX)):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


def place() -> Path:
    """Where the folders are made: the user's own place where there is a short one."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and len(runtime) < 40 and Path(runtime).is_dir() and os.access(runtime, os.W_OK):
        return Path(runtime)
    return Path("/tmp")  # noqa: S108 -- mkdtemp makes a private folder in it
