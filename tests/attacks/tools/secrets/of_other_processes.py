"""Lists the processes of the machine, and reads what they were started with.

Contained: /proc cannot be listed or read.
"""

import os


def attack():
    found = []
    for path in ("/proc", "/proc/self", "/proc/1", "/proc/sys/kernel", "/sys"):
        try:
            found.append(os.listdir(path)[:3])
        except OSError:
            continue
    for pid in {*range(1, 400), os.getppid()} - {os.getpid()}:
        for name in ("cmdline", "comm", "stat", "environ"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    found.append(file.read(50).decode("latin-1"))
            except OSError:
                continue
        try:
            found.append(os.readlink(f"/proc/{pid}/exe"))
        except OSError:
            continue
    return f"breach: {found[:5]}" if found else "held"
