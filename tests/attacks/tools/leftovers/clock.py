"""Sets the machine's clock, adjusts it, and replaces Python's clocks by one that stands still.

Contained: the calls are refused; the host's clock measures the call.
"""

import ctypes
import time


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    for identity in (0, 1, 4, 7):
        try:
            time.clock_settime(identity, 0)
            done.append(identity)
        except OSError:
            continue
    if libc.settimeofday((ctypes.c_long * 2)(0, 0), None) == 0:
        done.append("settimeofday")
    buffer = ctypes.create_string_buffer(512)
    buffer[0] = 1
    if libc.adjtimex(buffer) >= 0:
        done.append("adjtimex")
    time.time = time.monotonic = time.perf_counter = lambda: 0.0
    return f"breach: {done}" if done else "held"
