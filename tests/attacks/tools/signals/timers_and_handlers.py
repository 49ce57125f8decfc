"""Sets an alarm, an interval timer and handlers for every signal, and returns before they strike.

Contained: the timers end with the process; the next call has fresh handlers.
"""

import signal
import time


def attack():
    for number in range(1, 32):
        try:
            signal.signal(number, lambda *_: time.sleep(60))
        except (OSError, ValueError):
            continue
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
    signal.alarm(1)
    return "held"
