"""Tries every number of a call that there is, with arguments that do nothing.

Contained: all but some ninety answer that they are not permitted.
"""

import ctypes
import os

SKIPPED = {0, 15, 34, 60, 231, 35, 130, 202, 230, 219, 7, 23, 270, 271, 281, 232, 128, 3}


def attack():
    if os.uname().machine != "x86_64":
        return "held: the numbers are another machine's"
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    allowed = []
    for number in range(480):
        if number in SKIPPED:
            continue
        ctypes.set_errno(0)
        result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
        if result >= 0 or ctypes.get_errno() not in (1, 38):
            allowed.append(number)
    return f"breach: {allowed}" if len(allowed) > 90 else f"held: {len(allowed) > 20}"
