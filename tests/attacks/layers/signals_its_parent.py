"""Signals the worker in two ways, with the signal that only asks whether one could.

Contained: no signal leaves the process.
"""

import ctypes
import os


def attack():
    libc, parent, sent = ctypes.CDLL(None), os.getppid(), []
    if libc.kill(parent, 0) == 0:
        sent.append("kill")
    if libc.syscall({"x86_64": 234, "aarch64": 131}[os.uname().machine], parent, parent, 0) == 0:
        sent.append("tgkill")
    return f"breach: {sent}" if sent else "held"
