"""Kills the worker, its group, everything, and every process by number.

Contained: no signal leaves the process.
"""

import os
import signal


def attack():
    sent = []
    for pid in (os.getppid(), 1, -1, 0, *range(2, 60), *range(os.getpid() + 1, os.getpid() + 20)):
        for send in (os.kill, os.killpg):
            try:
                send(pid, signal.SIGKILL)
            except (OSError, OverflowError):
                continue
            sent.append(pid)
    return f"breach: {sent}" if sent else "held"
