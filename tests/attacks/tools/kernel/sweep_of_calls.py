"""Tries every number of a call that there is, with arguments that do nothing.

Contained: all but some eighty answer that they are not permitted.
"""

import ctypes
import os

SKIPPED = {
    0, 3, 7, 9, 10, 11, 12, 15, 23, 25, 34, 35, 37, 56, 60, 128, 130, 131, 158, 202, 218, 219, 230,
    231, 232, 270, 271, 273, 281, 334, 335, 336,
}  # fmt: skip
"""Those that wait, end the process, or spoil it; 335 and 336 are the kernel's own breakpoints."""


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
    return f"breach: {allowed}" if len(allowed) > 60 else f"held: {len(allowed) > 20}"
