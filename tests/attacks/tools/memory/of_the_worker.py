"""Reads and writes the memory of the worker and its neighbours through /proc.

Contained: the files cannot be opened, and belong to root.
"""

import os


def attack():
    opened = []
    for pid in {1, os.getppid(), *range(os.getpid() - 4, os.getpid() + 5)}:
        for name in ("mem", "maps", "environ", "cmdline", "auxv", "stack", "syscall", "pagemap"):
            try:
                os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
            except OSError:
                continue
            opened.append(f"{pid}/{name}")
    return f"breach: {opened}" if opened else "held"
