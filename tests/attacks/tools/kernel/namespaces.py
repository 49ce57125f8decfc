"""Becomes root of a user namespace of its own, and enters the namespaces of others.

Contained: refused.
"""

import ctypes


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    flags = (0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x80, 0x02000000, 0x0)
    done = [hex(flag) for flag in flags if libc.unshare(flag) == 0]
    if libc.setns(0, 0) == 0:
        done.append("setns")
    return f"breach: {done}" if done else "held"
