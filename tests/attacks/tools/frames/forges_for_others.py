"""Looks for the connections of the worker and of waiting neighbours, to write results for them.

Contained: it holds its own connection only, and no descriptor of another process can be opened.
"""

import os


def attack():
    opened = []
    for pid in ["self", "1", *range(os.getppid() - 2, os.getpid() + 10)]:
        for number in range(24):
            for name in (f"/proc/{pid}/fd/{number}", f"/dev/fd/{number}"):
                try:
                    opened.append(os.open(name, os.O_WRONLY))
                except OSError:
                    continue
    sockets = 0
    for number in range(64):
        try:
            sockets += os.fstat(number).st_mode & 0o170000 == 0o140000
        except OSError:
            continue
    return "held" if not opened and sockets == 1 else f"breach: {opened}, {sockets} connections"
