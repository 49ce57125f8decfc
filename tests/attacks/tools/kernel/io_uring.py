"""Sets up a ring through which calls go past a filter of calls.

Contained: refused.
"""

import ctypes


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    done = [number for number in (425, 426, 427) if libc.syscall(number, 1, b"\0" * 120, 0) >= 0]
    return f"breach: {done}" if done else "held"
