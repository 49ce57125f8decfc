"""Makes a POSIX message queue, by which calls of different processes could speak to each other.

Contained: refused.
"""

import ctypes


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mq_open(b"/toolhop-left", 0o102, 0o666, None) < 0:
        return "held"
    libc.mq_unlink(b"/toolhop-left")
    return "breach: it was made"
