"""Locks files of the library, which processes of the same time could see: a way to signal.

Contained: the commands are refused.
"""

import fcntl
import os


def attack():
    done = []
    folder = os.path.dirname(os.__file__)
    name = next(name for name in os.listdir(folder) if name.startswith("colorsys.py"))
    with open(f"{folder}/{name}", "rb") as file:
        for way, lock in {
            "lockf": lambda: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB),
            "flock": lambda: fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB),
            "lease": lambda: fcntl.fcntl(file, 1024, fcntl.F_RDLCK),
            "open file": lambda: fcntl.fcntl(file, 37, bytes(32)),
            "notify": lambda: fcntl.fcntl(os.open(folder, 0), 1026, 1),
        }.items():
            try:
                lock()
            except OSError:
                continue
            done.append(way)
    return f"breach: {done}" if done else "held"
