"""Asks how many threads the machine has and how much memory is free, which others can change.

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
