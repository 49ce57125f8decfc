"""Makes a folder, cuts a file short and writes to it, each by a call of its own.

Contained: each is refused.
"""

import os


def attack(paths):
    done, (path, folder) = [], paths[:2]
    for name, change in {
        "make": lambda: os.mkdir(f"{folder}/made"),
        "remove": lambda: os.rmdir(f"{folder}/made"),
        "truncate": lambda: os.truncate(path, 5),
        "write": lambda: os.open(path, os.O_WRONLY),
    }.items():
        try:
            change()
        except OSError:
            continue
        done.append(name)
    return f"breach: {done}" if done else "held"
