"""Landlock: the standard library is readable, and all other access to files is denied.

It also closes `/dev/shm` and `/dev/mqueue`, through which a call could leave something for the next
one, and from ABI 4 and 6 also TCP, abstract sockets, and signals to processes outside. Packages
installed next to the standard library stay closed too, as one may be a data set.

A ruleset is built once, in the zygote, and applied by each standby: that takes 45 µs, while
building it in each takes 430 (130 with the 330 paths that leave out installed packages).
"""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System call numbers, the same on every architecture."""
_VERSION_FLAG, _RULE_PATH_BENEATH = 1, 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
FILES, NETWORK, SCOPES = 0, 1, 2
"""Fields of a ruleset, in the order of `struct landlock_ruleset_attr`."""

GROUPS: tuple[tuple[str, int, int, int], ...] = (
    # Denied rights: name, field, bits, and the first ABI that knows them (linux/landlock.h).
    # Moving files between folders (1 << 13) is denied by any ruleset that does not name it.
    ("run programs", FILES, 1 << 0, 1),
    ("write files", FILES, 1 << 1, 1),
    ("read files", FILES, _READ_FILE, 1),
    ("list folders", FILES, _READ_DIR, 1),
    ("make and remove files", FILES, 0b1_1111_1111_0000, 1),
    ("truncate files", FILES, 1 << 14, 3),
    ("control devices", FILES, 1 << 15, 5),
    ("TCP", NETWORK, 0b11, 4),
    ("abstract sockets", SCOPES, 1 << 0, 6),
    ("signals to others", SCOPES, 1 << 1, 6),
)

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Return the kernel's Landlock ABI version; 0 without Landlock."""
    version: int = _libc.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    return max(version, 0)


def ruleset(readable: tuple[str, ...], listed: str) -> int | None:
    """Build a ruleset that denies all of `GROUPS` that the kernel knows; return its descriptor.

    Returns None without Landlock, or if one of the paths cannot be added.

    Args:
        readable: files, and folders of files, that stay readable.
        listed: folder below which names can still be listed, as imports need.
    """
    version = abi()
    if version < 1:
        return None
    fields = [0] * (1 + (version >= 4) + (version >= 6))
    for _, field, bits, since in GROUPS:
        if version >= since:
            fields[field] |= bits
    attribute = struct.pack(f"={len(fields)}Q", *fields)
    made: int = _libc.syscall(_CREATE_RULESET, attribute, len(attribute), 0)
    if made < 0:
        return None
    for path, rights in ((listed, _READ_DIR), *((path, _READ_FILE) for path in readable)):
        if not _allow(made, path, rights & fields[FILES]):
            os.close(made)
            return None
    return made


def _allow(made: int, path: str, rights: int) -> bool:
    """Add a rule that grants `rights` for `path` and everything below it."""
    if not rights:
        return True
    beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", rights, beneath)
    added: int = _libc.syscall(_ADD_RULE, made, _RULE_PATH_BENEATH, rule, 0)
    os.close(beneath)
    return added == 0


def restrict(made: int) -> bool:
    """Apply a ruleset irrevocably. The caller must have given up new privileges."""
    taken: int = _libc.syscall(_RESTRICT_SELF, made, 0)
    return taken == 0
