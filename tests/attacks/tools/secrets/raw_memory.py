"""Reads its own memory page by page, freed memory included, for what other calls held.

Contained: as above; what the worker forgot it never knew.
"""

import ctypes
import os
import re

PAGE = 4096


def attack():
    pattern = re.compile(b"canary" + b"-[0-9a-f]{16}")
    libc = ctypes.CDLL(None, use_errno=True)
    reader, writer = os.pipe()
    libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
    found, read = set(), 0
    starts = {id(object()) & ~0xFFFFF, id(b"x" * 5000) & ~0xFFFFF, id(type) & ~0xFFFFF}
    starts.add(ctypes.addressof(ctypes.create_string_buffer(1 << 20)) & ~0xFFFFF)
    for start in starts:
        for address in range(start - (8 << 20), start + (8 << 20), PAGE):
            # The kernel says EFAULT where a load would crash.
            if libc.write(writer, address, PAGE) == PAGE:
                found.update(pattern.findall(os.read(reader, PAGE)))
                read += 1
    return f"breach: {sorted(found)}" if found else f"held: {read > 100}"
