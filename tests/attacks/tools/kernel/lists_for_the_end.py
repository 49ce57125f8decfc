"""Leaves lists of locks for the kernel to walk at its end: circles, and addresses that are not there.

Contained: the kernel gives up on them; the process ends as ever.
"""

import ctypes
import platform
import threading

NUMBERS = {"x86_64": (273, 218), "aarch64": (99, 96)}
KEPT = []


def leave():
    numbers = NUMBERS.get(platform.machine())
    if numbers is None:
        return
    circle = (ctypes.c_uint64 * 8)()
    circle[0], circle[2] = ctypes.addressof(circle), 0xDEAD0000
    KEPT.append(circle)
    call = ctypes.CDLL(None).syscall
    call(numbers[0], circle, 24)
    call(numbers[1], ctypes.c_void_p(0xDEADBEEF000))


def attack():
    threads = [threading.Thread(target=leave) for _ in range(4)]
    for thread in threads:
        thread.start()
    leave()
    return f"held: {len(threads)}"
