"""Leaves a message in the kernel's keyrings, which belong to the user.

Contained: refused.
"""

import ctypes
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    add, keyctl = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
    done = []
    for ring in (-1, -2, -3, -4, -5):
        if libc.syscall(add, b"user", b"toolhop-left", b"x", 1, ring) >= 0:
            done.append(ring)
        if libc.syscall(keyctl, 0, ring, 1) >= 0:
            done.append(ring)
    return f"breach: {done}" if done else "held"
