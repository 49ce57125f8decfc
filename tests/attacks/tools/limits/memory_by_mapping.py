"""Takes memory past Python's allocator, in shared and private mappings, and touches every page.

Contained: the address space is limited whoever asks.
"""

import mmap


def attack():
    kept = []
    try:
        while len(kept) < 4096:
            kept.append(mmap.mmap(-1, 1 << 22))
            kept[-1][:] = bytes([1]) * (1 << 22)
    except OSError:
        mib = len(kept) * 4
        return f"held: {'less' if mib < 400 else mib} than 400 MiB"
    return "breach: 16 GiB"
