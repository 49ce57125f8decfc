"""Forks as long as it can.

Contained: refused; the allow-list holds `clone` for threads only.
"""

import os


def attack():
    made = 0
    try:
        for _ in range(200):
            if os.fork() == 0:
                while True:
                    pass
            made += 1
    except OSError:
        return f"breach: {made} processes" if made else "held"
    return f"breach: {made} processes"
