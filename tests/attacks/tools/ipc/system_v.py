"""Leaves a message in System V shared memory, a queue and a semaphore.

Contained: refused.
"""

import ctypes


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    for key in (0x7001, 0):
        if libc.shmget(key, 4096, 0o1666) >= 0:
            done.append("shmget")
        if libc.msgget(key, 0o1666) >= 0:
            done.append("msgget")
        if libc.semget(key, 1, 0o1666) >= 0:
            done.append("semget")
    return f"breach: {done}" if done else "held"
