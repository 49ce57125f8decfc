"""Asks whether files of the host exist, how large they are and when they changed.

Contained: in Docker they are not there. The process sandbox does not stop it: Landlock looks at
opening a file, and imports need `stat`.
"""

import os


def attack(paths):
    found = []
    for path in paths:
        try:
            found.append(os.stat(path).st_size)
        except OSError:
            continue
    return f"seen: {len(found)}" if found else "held"
