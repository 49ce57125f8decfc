"""Sends results without end on a connection that nobody reads any more.

Contained: the first frame is taken and the process killed.
"""

import os
import stat
import struct


def attack():
    frame = struct.pack(">I", 65536) + b'r"' + b"x" * 65533 + b'"'
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                while True:
                    os.write(number, frame)
        except OSError:
            continue
