"""Opens the memory and the descriptors of the worker's first process.

Contained: they belong to root, and the kernel lets nobody trace that process.
"""

import os


def attack():
    opened = []
    for name in ("mem", "fd/0", "environ"):
        try:
            os.close(os.open(f"/proc/{os.getppid()}/{name}", os.O_RDONLY))
        except OSError:
            continue
        opened.append(name)
    return f"breach: {opened}" if opened else "held"
