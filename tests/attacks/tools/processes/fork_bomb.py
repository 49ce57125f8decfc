"""Forks as long as it can.

Contained: refused; the allow-list holds `clone` for threads only.
"""

import os
import time


def attack():
    made = 0
    try:
        # Not more, nor any that computes: where it gets through, that is enough to know.
        for _ in range(20):
            if os.fork() == 0:
                time.sleep(10)
                os._exit(0)
            made += 1
    except OSError:
        return f"breach: {made} processes" if made else "held"
    return f"breach: {made} processes"
