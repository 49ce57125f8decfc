"""Mounts a file system, unmounts one, and changes the root, by old calls and new.

At a place that does not exist: where this gets through the answer is another one, and no harm done.

Contained: refused before the place is looked at.
"""

import ctypes

NOWHERE = b"/toolhop-nowhere"


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    for name, call in {
        "mount": lambda: libc.mount(b"none", NOWHERE, b"tmpfs", 0, None),
        "umount2": lambda: libc.umount2(NOWHERE, 2),
        "pivot_root": lambda: libc.syscall(155, NOWHERE, NOWHERE),
        "chroot": lambda: libc.chroot(NOWHERE),
        "open_tree": lambda: libc.syscall(428, -100, NOWHERE, 1),
        "move_mount": lambda: libc.syscall(429, -100, NOWHERE, -100, NOWHERE, 0),
        "fsopen": lambda: libc.syscall(430, b"toolhop-none", 0),
        "fsconfig": lambda: libc.syscall(431, -1, 0, 0, 0, 0),
        "fsmount": lambda: libc.syscall(432, -1, 0, 0),
        "mount_setattr": lambda: libc.syscall(442, -100, NOWHERE, 0, 0, 0),
    }.items():
        ctypes.set_errno(0)
        if call() >= 0 or ctypes.get_errno() not in (1, 38):
            done.append(f"{name}: {ctypes.get_errno()}")
    return f"breach: {done}" if done else "held"
