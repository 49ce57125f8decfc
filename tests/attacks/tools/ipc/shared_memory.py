"""Leaves a message in POSIX shared memory, a named semaphore and a message queue.

Contained: Landlock and seccomp refuse all three; in Docker there is no IPC namespace to share.
"""

import ctypes


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    if libc.shm_open(b"/toolhop-left", 0o102, 0o666) >= 0:
        done.append("shm_open")
    libc.sem_open.restype = ctypes.c_void_p
    if libc.sem_open(b"/toolhop-left", 0o100, 0o666, 1):
        done.append("sem_open")
    if libc.mq_open(b"/toolhop-left", 0o102, 0o666, None) >= 0:
        done.append("mq_open")
    return f"breach: {done}" if done else "held"
