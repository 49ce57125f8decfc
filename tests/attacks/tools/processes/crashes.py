"""Reads address 0.

Contained: it died by a signal; the next call has a process of its own.
"""

import ctypes


def attack():
    return ctypes.string_at(0)
