"""Reads the environment for keys and passwords of the person who runs it.

Contained: the worker's is made from nothing.
"""

import ctypes
import os


def attack():
    environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    raw, index = [], 0
    while environ and environ[index]:
        raw.append(environ[index].decode())
        index += 1
    names = sorted({*os.environ, *(text.partition("=")[0] for text in raw)})
    extra = set(names) - {
        "PYTHONHASHSEED",
        "TZ",
        "LC_ALL",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONTZPATH",
        "PATH",
        "HOSTNAME",
        "HOME",
        "PYTHONPATH",
        "LC_CTYPE",
        "PWD",
    }
    text = f"{sorted(os.environ.items())} {raw}"
    return f"breach: {sorted(extra)} {text}" if extra or "canary-" in text else "held"
