"""The folders through which host and containers connect, and their removal after a host was killed.

A worker in a container connects to a socket whose folder is mounted. The folder exists only for the
0.2 s of the start; a host killed in that time leaves it behind. Its name identifies the owner, so
the next start can remove it without touching those of concurrent runs.
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
    """Return the prefix of a temporary folder's name, which identifies its owner."""
    return PREFIX + owner.folder_prefix()


def control_folder() -> Path:
    """Create a folder to mount, inside one that only this user can enter.

    A Unix socket's path is limited to 107 bytes, so the folder is created in a short path.
    """
    private = Path(tempfile.mkdtemp(prefix=prefix(), dir=place()))
    folder = private / "c"
    folder.mkdir()
    # Set explicitly, whatever the umask, as the container's user differs.
    folder.chmod(0o755)
    return folder


def discard(folder: Path) -> None:
    """Remove a folder created by `control_folder`."""
    shutil.rmtree(folder.parent, ignore_errors=True)


def sweep_folders() -> int:
    """Remove this user's folders whose owner has ended, and return their number. Never raises."""
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
    """Return the parent of our folders: the runtime directory if its path is short, else /tmp."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and len(runtime) < 40 and Path(runtime).is_dir() and os.access(runtime, os.W_OK):
        return Path(runtime)
    return Path("/tmp")  # noqa: S108 -- mkdtemp makes a private folder in it
