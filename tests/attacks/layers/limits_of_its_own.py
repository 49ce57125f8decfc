"""Asks the kernel which limits its process has.

Contained: file size 0, at most 64 descriptors, no core, no locked memory, no queued signals, and
hard limits of 1 GiB and, for a call of 3 s, 6 s of processor time.
"""

import resource

MOST = {
    "FSIZE": 0,
    "NOFILE": 64,
    "CORE": 1,
    "MEMLOCK": 0,
    "SIGPENDING": 0,
    "AS": 1 << 30,
    "CPU": 6,
}


def attack():
    found = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] for name in MOST}
    wide = {name: most for name, most in found.items() if not 0 <= most <= MOST[name]}
    return f"breach: {wide}" if wide else "held"
