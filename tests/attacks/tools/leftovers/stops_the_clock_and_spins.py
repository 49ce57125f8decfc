"""Replaces every clock by one that stands still, catches alarms, and never returns.

Contained: killed at the time limit, which the host keeps.
"""

import signal
import time


def attack():
    time.time = time.monotonic = time.perf_counter = time.sleep = lambda *_: 0.0
    for number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pass
