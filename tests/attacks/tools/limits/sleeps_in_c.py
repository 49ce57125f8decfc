"""Waits inside a C function, where Python handles no signal of its own.

Contained: killed at the time limit.
"""

import time


def attack():
    time.sleep(3600)
    return "breach: slept an hour"
