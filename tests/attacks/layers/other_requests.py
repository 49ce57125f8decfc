"""Makes the calls that are allowed in part, with arguments that are not.

Contained: the filter refuses them, before anything looks at what they are of.
"""

import ctypes
import os

NUMBERS = {
    "x86_64": {"fcntl": 72, "ioctl": 16, "madvise": 28, "clock_nanosleep": 230},
    "aarch64": {"fcntl": 25, "ioctl": 29, "madvise": 233, "clock_nanosleep": 115},
}


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    numbers, done = NUMBERS[os.uname().machine], []
    for name, arguments in {
        "fcntl": (0, 8, 0),
        "ioctl": (0, 0x1234, 0),
        "madvise": (0, 0, 101),
        "clock_nanosleep": ((~1 << 3) | 2, 0, 0, 0),
    }.items():
        ctypes.set_errno(0)
        if libc.syscall(numbers[name], *arguments) >= 0 or ctypes.get_errno() != 1:
            done.append(f"{name}: {ctypes.get_errno()}")
    return f"breach: {done}" if done else "held"
