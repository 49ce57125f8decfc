"""Takes a copy of the worker's descriptors through `pidfd_getfd` and shared descriptor tables.

Contained: refused.
"""

import ctypes
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    for pid in {1, os.getppid(), os.getpid() - 1, os.getpid() + 1}:
        if libc.syscall(434, pid, 0) >= 0:
            done.append("pidfd_open")
        for number in range(12):
            if libc.syscall(438, number, number, 0) >= 0:
                done.append("pidfd_getfd")
    if libc.unshare(0x400) == 0:
        done.append("unshare")
    if libc.syscall(436, 0, 2, 2) >= 0:
        done.append("close_range")
    return f"breach: {done}" if done else "held"
