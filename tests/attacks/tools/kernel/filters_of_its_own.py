"""Installs a filter that asks a supervisor, which is itself, and a Landlock ruleset over the worker's.

Contained: refused; a filter cannot be added any more, and none can be taken away.
"""

import ctypes
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    done = []
    for operation, flags in ((0, 0), (1, 0), (1, 8), (2, 0), (3, 0)):
        if libc.syscall(number, operation, flags, b"\0" * 16) >= 0:
            done.append(f"seccomp {operation}")
    if libc.prctl(22, 1, 0, 0, 0) == 0 or libc.prctl(22, 2, b"\0" * 16, 0, 0) == 0:
        done.append("prctl")
    done += [f"{call}" for call in (444, 445, 446) if libc.syscall(call, 0, 0, 1) >= 0]
    return f"breach: {done}" if done else "held"
