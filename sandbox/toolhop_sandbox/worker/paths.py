"""The files that a call may read: the standard library, and what its extension modules link to."""

from __future__ import annotations

import contextlib
import os
import sys


def stdlib_folder() -> str:
    """Return the folder of the standard library."""
    return os.path.dirname(os.__file__)  # noqa: PTH120 -- pathlib costs every standby memory


def of_stdlib(entry: str) -> bool:
    """Whether an entry of `sys.path` is the standard library or a folder inside it."""
    folder = stdlib_folder()
    inner = entry.startswith(f"{folder}/") and not entry.endswith("-packages")
    return entry == folder or inner


def readable() -> tuple[str, ...]:
    """Return the paths of the standard library, and of what its extension modules link to.

    Packages installed next to it are excluded: this project may be one, with the answers that a
    tool is to find. Folders without such packages are listed as a whole, as a standby pays for each
    path when it starts and when it ends.
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
    """Return `folder`, or its entries without installed packages; empty if it does not exist.

    If not `whole`, its entries are always returned, as libraries may be in one of them
    (`/lib/x86_64-...`).
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
    """Whether a path is a shared library, or a folder with shared libraries."""
    if ".so" in os.path.basename(path):  # noqa: PTH119 -- the same
        return True
    with contextlib.suppress(OSError):
        return any(".so" in name for name in os.listdir(path))  # noqa: PTH208 -- the same
    return False
