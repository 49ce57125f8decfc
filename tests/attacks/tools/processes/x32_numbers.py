"""Makes forbidden calls under their x32 numbers, which carry a bit that hides them from a filter.

Contained: refused by that bit.
"""

import ctypes
import os

BIT = 0x40000000


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    if os.uname().machine != "x86_64":
        return "held: not this machine"
    for number in (57, 41, 62, 101, 520, 521, 522):  # fork socket kill ptrace; x32's own
        result = libc.syscall(ctypes.c_long(BIT | number), 0, 0, 0, 0)
        if result >= 0 or ctypes.get_errno() != 1:
            if result == 0:
                os._exit(0)
            return f"breach: {number}: {result}, {ctypes.get_errno()}"
    return "held"
