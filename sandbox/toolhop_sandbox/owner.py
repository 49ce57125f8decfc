"""Who owns a container or a folder: a process, and not a later one of the same id.

An image belongs to an installation instead: several checkouts may share an engine.

A process id says nothing in another PID namespace: a run in a container that was given the
engine's socket shares the engine with runs on the host, but not their process ids. So the
namespace is part of the name, and what carries another one is never taken for gone.
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
    """Number of this process's PID namespace; 0 where none is known."""
    try:
        text = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return "0"
    return re.sub(r"\D", "", text) or "0"


def _started(pid: int) -> str:
    """Start time of a process in clock ticks after boot; empty where there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The command's name, in parentheses, may hold spaces; the 22nd field is the start time.
    return text.rpartition(")")[2].split()[19]


def _runs(pid: int, started: str) -> bool:
    """Whether the process `pid` of this namespace that began at `started` still runs."""
    now = _started(pid)
    if now:
        return now == started
    try:
        os.kill(pid, 0)
    except PermissionError:
        # It is there, of another user, and /proc is mounted with hidepid.
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def me() -> str:
    """Label of the running process."""
    pid = os.getpid()
    return f"{_boot_id()}:{_namespace()}:{pid}:{_started(pid)}"


def is_gone(label: str) -> bool:
    """Whether the process named by `label` has ended for certain.

    A label of another boot is not: it belongs to another machine that shares this engine, or
    to a boot before, and engines end containers at boot, so only the first can be alive.
    """
    boot, _, rest = label.partition(":")
    namespace, _, rest = rest.partition(":")
    pid, _, started = rest.partition(":")
    if not pid.isdecimal() or boot != _boot_id() or namespace != _namespace():
        return False
    return not _runs(int(pid), started)


def home() -> str:
    """Label of this installation: of images, which outlive the process that made them."""
    return f"{platform.node()}:{Path(__file__).resolve().parent}"


def home_is_gone(label: str) -> bool:
    """Whether the installation named by `label` was on this machine and is there no more."""
    node, _, folder = label.partition(":")
    return node == platform.node() and bool(folder) and not Path(folder).exists()


def folder_prefix() -> str:
    """Beginning of a folder's name that tells the running process, in at most 30 characters."""
    pid = os.getpid()
    return f"{pid}.{_started(pid) or 0}.{_namespace()}-"


def folder_is_orphaned(name: str) -> bool:
    """Whether the process that made a folder of this name (less its prefix) has ended.

    Unlike a container, a folder of an earlier boot can only be left over: temporary folders are
    not shared between machines.
    """
    match = _FOLDER.fullmatch(name)
    if match is None or match[3] != _namespace():
        return False
    return not _runs(int(match[1]), match[2])
