"""Signals the worker, its group, everything, and every process by number.

With signal 0, which only asks whether one could: where this gets through nobody is hurt.

Contained: no signal leaves the process.
"""

import os


def attack():
    sent = []
    for pid in (os.getppid(), 1, -1, 0, *range(2, 60), *range(os.getpid() + 1, os.getpid() + 20)):
        for send in (os.kill, os.killpg):
            try:
                send(pid, 0)
            except ProcessLookupError:
                pass
            except (OSError, OverflowError):
                continue
            sent.append(pid)
    return f"breach: {sent}" if sent else "held"
