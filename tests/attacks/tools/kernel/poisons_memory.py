"""Tells the kernel that a page of memory is broken, which takes it from the whole machine.

Asked for an address where nothing is mapped, so that even success would do no harm.

Contained: the advice is refused, as is all that does not concern the caller's own pages.
"""

import ctypes


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    for name, advice in {"poison": 100, "offline": 101, "mergeable": 12, "cold": 20}.items():
        ctypes.set_errno(0)
        result = libc.madvise(ctypes.c_void_p(0x10000), ctypes.c_size_t(4096), advice)
        if result == 0 or ctypes.get_errno() != 1:
            done.append(f"{name}: {ctypes.get_errno()}")
    return f"breach: {done}" if done else "held"
