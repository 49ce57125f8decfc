"""Calls the kernel through the fixed page of old programs, past the C library.

Contained: that page goes through the same filter, or is not mapped and crashes the process.
"""

import ctypes
import os


def attack():
    if os.uname().machine != "x86_64":
        return "held: not this machine"
    seconds = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(0xFFFFFFFFFF600400)(None)
    return f"held: the time is {'told' if seconds > 0 else 'refused'}"
