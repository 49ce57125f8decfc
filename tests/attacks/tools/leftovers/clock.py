"""Sets the machine's clock, adjusts it, and replaces Python's clocks by one that stands still.

With times that no clock can have: where this gets through the answer is another one, and no more.

Contained: the calls are refused; the host's clock measures the call.
"""

import ctypes
import os
import time


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    impossible = (ctypes.c_long * 2)(0, 2_000_000_000)
    numbers = {"x86_64": (227, 164, 159, 305), "aarch64": (112, 170, 171, 266)}
    settime, timeofday, adjust, adjust_clock = numbers[os.uname().machine]
    for name, call in {
        "clock_settime": lambda: libc.syscall(settime, 0, impossible),
        "settimeofday": lambda: libc.syscall(timeofday, impossible, None),
        "adjtimex": lambda: libc.syscall(adjust, ctypes.create_string_buffer(512)),
        "clock_adjtime": lambda: libc.syscall(adjust_clock, 0, ctypes.create_string_buffer(512)),
    }.items():
        ctypes.set_errno(0)
        if call() >= 0 or ctypes.get_errno() != 1:
            done.append(f"{name}: {ctypes.get_errno()}")
    time.time = time.monotonic = time.perf_counter = lambda: 0.0
    return f"breach: {done}" if done else "held"
