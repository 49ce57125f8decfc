"""Writes to every place that some system lets everybody write to.

Contained: nothing can be opened for writing, and no file can grow.
"""

import os
import sys
import tempfile


def attack():
    written = []
    own = os.path.dirname(os.__file__)
    for folder in (
        "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/run/lock", "/run/toolhop", "/",
        ".", own, f"{own}/__pycache__", sys.prefix, "/proc/self", "/dev", "/var/run", "/sys",
    ):  # fmt: skip
        for make in (
            lambda path: open(f"{path}/toolhop-left", "w"),
            lambda path: os.open(path, os.O_TMPFILE | os.O_RDWR),
            lambda path: os.mkdir(f"{path}/toolhop-left-folder"),
            lambda path: os.mkfifo(f"{path}/toolhop-left-pipe"),
            lambda path: os.symlink("x", f"{path}/toolhop-left-link"),
        ):
            try:
                make(folder)
            except OSError:
                continue
            written.append(folder)
    try:
        written.append(tempfile.mkdtemp())
    except OSError:
        pass
    return f"breach: {written}" if written else "held"
