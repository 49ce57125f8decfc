"""Locks files of the library, which processes of the same time could see: a way to signal.

Contained: the commands are refused.
"""

import fcntl
import os


def attack():
    done = []
    with open(os.__file__.replace(".pyc", ".py") if os.path.exists(os.__file__) else os.__file__,
              "rb") as file:
        for name, lock in {
            "lockf": lambda: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB),
            "flock": lambda: fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB),
            "lease": lambda: fcntl.fcntl(file, 1024, fcntl.F_RDLCK),
            "ofd": lambda: fcntl.fcntl(file, 37, bytes(32)),
            "notify": lambda: fcntl.fcntl(os.open(os.path.dirname(file.name), 0), 1026, 1),
        }.items():
            try:
                lock()
            except OSError:
                continue
            done.append(name)
    return f"breach: {done}" if done else "held"
