"""Becomes root, or another user, or takes capabilities back.

Contained: refused; the container's user owns nothing, and no privileges can be gained.
"""

import ctypes
import os


def attack():
    done = []
    for name, change in {
        "setuid": lambda: os.setuid(0),
        "setgid": lambda: os.setgid(0),
        "setresuid": lambda: os.setresuid(0, 0, 0),
        "setgroups": lambda: os.setgroups([0]),
        "setfsuid": lambda: ctypes.CDLL(None, use_errno=True).setfsuid(0) + 1 or 1 / 0,
    }.items():
        try:
            change()
        except (OSError, ZeroDivisionError):
            continue
        done.append(name)
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)(*([0xFFFFFFFF] * 6))) == 0:
        done.append("capset")
    return f"breach: {done}" if done else "held"
