"""Moves to every processor, and asks for a better priority of processor and disk.

Contained: the calls are refused.
"""

import ctypes
import os


def attack():
    done = []
    libc = ctypes.CDLL(None, use_errno=True)
    tries = {
        "affinity": lambda: os.sched_setaffinity(0, range(os.cpu_count() or 1)),
        "nice": lambda: os.nice(-5),
        "realtime": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, 0, -5),
    }
    for name, attempt in tries.items():
        try:
            attempt()
        except OSError:
            continue
        done.append(name)
    number = {"x86_64": 251, "aarch64": 30}.get(os.uname().machine, 251)
    if libc.syscall(number, 1, 0, 0) == 0:
        done.append("ioprio")
    return f"breach: {done}" if done else "held"
