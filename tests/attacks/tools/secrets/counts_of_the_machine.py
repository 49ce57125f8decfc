"""Reads the machine's thread count and free memory, which other processes change.

Contained: the call is refused.
"""

import ctypes
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    sysinfo = 99 if os.uname().machine == "x86_64" else 179
    if libc.syscall(sysinfo, ctypes.create_string_buffer(128)) < 0:
        return "held"
    return "breach: it is told"
