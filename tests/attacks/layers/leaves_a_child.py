"""Forks a process that sleeps, and returns its id.

Contained: it is gone with the call, being of the call's process group.
"""

import os
import time


def attack():
    child = os.fork()
    if child == 0:
        for number in range(3, 24):
            try:
                os.close(number)
            except OSError:
                continue
        time.sleep(30)
        os._exit(0)
    return child
