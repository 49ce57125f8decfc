"""Mounts a file system, unmounts one, and changes the root, by old calls and new.

Contained: refused.
"""

import ctypes


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
        done.append("mount")
    if libc.umount2(b"/proc", 2) == 0:
        done.append("umount2")
    if libc.syscall(155, b"/", b"/") == 0 or libc.chroot(b"/") == 0:
        done.append("pivot_root")
    for number in (428, 429, 430, 432, 433, 442):
        if libc.syscall(number, b"tmpfs", 0, 0, 0, 0) >= 0:
            done.append(number)
    return f"breach: {done}" if done else "held"
