"""Handles the signal of a bad address in C, and returns to the same address: a loop in the kernel.

Contained: killed at the time limit.
"""

import ctypes


def attack():
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: None)
    ctypes.CDLL(None).signal(11, handler)
    return ctypes.string_at(0)
