"""Undoes the kernel's promise to kill it with its parent, and other settings of its own process.

Contained: `prctl` and `personality` are refused.
"""

import ctypes


def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    options = {
        "pdeathsig": (1, 0),
        "dumpable": (4, 1),
        "keepcaps": (8, 1),
        "name": (15, b"zygote"),
        "subreaper": (36, 1),
        "ptracer": (0x59616D61, -1),
        "mm": (35, 1),
        "speculation": (53, 0),
    }
    done = [name for name, args in options.items() if libc.prctl(*args, 0, 0, 0) == 0]
    if libc.personality(0x0040000) >= 0:
        done.append("personality")
    if libc.setsid() >= 0:
        done.append("setsid")
    if libc.setpgid(0, 0) >= 0:
        done.append("setpgid")
    return f"breach: {done}" if done else "held"
