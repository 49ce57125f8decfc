"""Which files a call may read: the standard library, and what its extension modules link to."""

from __future__ import annotations

import contextlib
import os
import sys


def stdlib_folder() -> str:
    """Folder of the standard library."""
    return os.path.dirname(os.__file__)  # noqa: PTH120 -- pathlib costs every standby memory


def of_stdlib(entry: str) -> bool:
    """Whether an entry of `sys.path` is the standard library or a folder of it."""
    folder = stdlib_folder()
    inner = entry.startswith(f"{folder}/") and not entry.endswith("-packages")
    return entry == folder or inner


def readable() -> tuple[str, ...]:
    """The standard library, and what its extension modules link to.

    Not the packages that are installed beside it: this project may be one, with the answers that
    a tool is to find. Folders are named whole where they hold no such packages, for a standby
    takes each path on, and gives it back when it ends.
    """
    folders = (
        stdlib_folder(), f"{sys.base_prefix}/lib", "/lib", "/lib64", "/usr/lib", "/usr/lib64",
    )  # fmt: skip
    library, *linked = dict.fromkeys(map(os.path.realpath, folders))
    found = set(_without_packages(library))
    for folder in linked:
        found |= {path for path in _without_packages(folder, whole=False) if _links(path)}
    return tuple(sorted(found))


def _without_packages(folder: str, *, whole: bool = True) -> list[str]:
    """`folder`, or where packages lie in it, its other entries; nothing where it is not there.

    Not `whole`: its entries in any case, as libraries may lie in one of them (`/lib/x86_64-...`).
    """
    if not os.path.isdir(folder):  # noqa: PTH112 -- pathlib costs every standby memory
        return []
    entries = list(os.scandir(folder))
    fit = [entry.path for entry in entries if not _holds_packages(entry)]
    return [folder] if whole and len(fit) == len(entries) else [*filter(os.path.exists, fit)]


def _holds_packages(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder of installed packages, or a Python that may have one."""
    name = entry.name
    return (name.endswith("-packages") or name.startswith(("python", "pypy"))) and entry.is_dir()


def _links(path: str) -> bool:
    """Whether a path is a shared library, or a folder that shared libraries lie in."""
    if ".so" in os.path.basename(path):  # noqa: PTH119 -- the same
        return True
    with contextlib.suppress(OSError):
        return any(".so" in name for name in os.listdir(path))  # noqa: PTH208 -- the same
    return False
