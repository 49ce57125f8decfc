"""Opens its own memory, maps, environment and descriptors in /proc.

Contained: refused; what it may know of itself it can ask by calls.
"""

import os


def attack():
    opened = []
    for name in ("mem", "maps", "environ", "fd", "task", "root", "cwd", "mountinfo", "status"):
        for base in ("/proc/self", "/proc/thread-self", f"/proc/{os.getpid()}"):
            try:
                os.close(os.open(f"{base}/{name}", os.O_RDONLY))
            except OSError:
                continue
            opened.append(f"{base}/{name}")
    return f"breach: {opened}" if opened else "held"
