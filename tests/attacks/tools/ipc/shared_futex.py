"""Waits and wakes on a futex in a page of the C library, which all processes share.

Contained: nobody waits where another process could wake, and a thread can still be waited for.
"""

import ctypes
import os


class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    futex = 202 if os.uname().machine == "x86_64" else 98
    place = ctypes.cast(libc.puts, ctypes.c_void_p).value & ~4095
    word = ctypes.c_uint32.from_address(place).value
    soon, done = ctypes.byref(Time(0, 10_000_000)), []
    # Wait, wait for a bit, wake, wake for a bit, and from one place to another.
    for command in (0, 9, 1, 10, 3, 4, 5):
        ctypes.set_errno(0)
        arguments = (ctypes.c_void_p(place), command, word, soon, ctypes.c_void_p(place + 4), -1)
        if libc.syscall(futex, *arguments) >= 0 or ctypes.get_errno() not in (11, 1):
            done.append(f"{command}: {ctypes.get_errno()}")
    thread, told = ctypes.c_ulong(), ctypes.c_void_p()
    libc.pthread_create(ctypes.byref(thread), None, libc.usleep, ctypes.c_void_p(20_000))
    if libc.pthread_join(thread, ctypes.byref(told)):
        done.append("no thread can be waited for")
    return f"breach: {done}" if done else "held"
