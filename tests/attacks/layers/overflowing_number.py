"""Writes a result with a number that JSON allows and that no float can hold.

Contained: no JSON; whoever reads the result would find infinity.
"""

import os
import stat
import struct


def attack():
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, struct.pack(">I", 6) + b"r1e999")
        except OSError:
            continue
    os._exit(0)
