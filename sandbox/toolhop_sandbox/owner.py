"""The owner of a container or folder: a process, distinguished from later ones with the same id.

An image belongs to an installation instead, as several checkouts may share an engine.

A process id means nothing in another PID namespace: a run in a container that was given the
engine's socket shares the engine with runs on the host, but not their process ids. So the namespace
is part of the label, and an owner in another namespace is never considered gone.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

_FOLDER = re.compile(r"(\d+)\.(\d+)\.(\d+)-.*")


def _boot_id() -> str:
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.exists() else "unknown"


def _namespace() -> str:
    """Return the number of this process's PID namespace; 0 if unknown."""
    try:
        text = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return "0"
    return re.sub(r"\D", "", text) or "0"


def _started(pid: int) -> str:
    """Return a process's start time in clock ticks since boot; empty if it does not exist."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The command's name, in parentheses, may contain spaces; the 22nd field is the start time.
    return text.rpartition(")")[2].split()[19]


def _runs(pid: int, started: str) -> bool:
    """Whether the process `pid` of this namespace that started at `started` is still running."""
    now = _started(pid)
    if now:
        return now == started
    try:
        os.kill(pid, 0)
    except PermissionError:
        # It exists, owned by another user, with /proc mounted with hidepid.
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def me() -> str:
    """Return the label of the running process."""
    pid = os.getpid()
    return f"{_boot_id()}:{_namespace()}:{pid}:{_started(pid)}"


def is_gone(label: str) -> bool:
    """Whether the process named by `label` has certainly ended.

    A label from another boot does not count: it belongs to another machine that shares this engine,
    or to an earlier boot, and as engines end containers at boot, only the former can be alive.
    """
    boot, _, rest = label.partition(":")
    namespace, _, rest = rest.partition(":")
    pid, _, started = rest.partition(":")
    if not pid.isdecimal() or boot != _boot_id() or namespace != _namespace():
        return False
    return not _runs(int(pid), started)


def home() -> str:
    """Return the label of this installation, for images, which outlive their process."""
    return f"{platform.node()}:{Path(__file__).resolve().parent}"


def home_is_gone(label: str) -> bool:
    """Whether the installation named by `label` was on this machine and no longer exists."""
    node, _, folder = label.partition(":")
    return node == platform.node() and bool(folder) and not Path(folder).exists()


def folder_prefix() -> str:
    """Return a folder name's prefix that identifies this process; at most 30 characters."""
    pid = os.getpid()
    return f"{pid}.{_started(pid) or 0}.{_namespace()}-"


def folder_is_orphaned(name: str) -> bool:
    """Whether the process that made a folder of this name (without its prefix) has ended.

    Unlike a container, a folder of an earlier boot can only be a leftover: temporary folders are
    not shared between machines.
    """
    match = _FOLDER.fullmatch(name)
    if match is None or match[3] != _namespace():
        return False
    return not _runs(int(match[1]), match[2])
