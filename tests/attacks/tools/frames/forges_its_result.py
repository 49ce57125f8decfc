"""Writes a result of its own to its connection and ends.

Contained: that is its own result, no different from one that it returned.
"""

import os
import stat
import struct


def attack():
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, struct.pack(">I", 7) + b'r"mine"'[:7])
        except OSError:
            continue
    os._exit(0)
