"""Writes a program to a file that is memory only, and executes that.

Contained: refused; no memory file, no execution by descriptor.
"""

import ctypes
import os


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        number = os.memfd_create("tool")
        os.write(number, b"\x7fELF")
        return "breach: a memory file"
    except OSError:
        pass
    arguments = (ctypes.c_char_p * 2)(b"x", None)
    for number in (0, 1, 2):
        libc.fexecve(number, arguments, arguments)
    secret = libc.syscall(447, 0)
    return "breach: a secret memory file" if secret >= 0 else "held"
