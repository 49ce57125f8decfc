"""Writes NaN, infinity and numbers that overflow to its connection.

Contained: the host's parser takes none of them.
"""

import os
import stat
import struct


def attack():
    body = b'r{"a": NaN, "b": -Infinity, "c": 1e999}'
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, struct.pack(">I", len(body)) + body)
        except OSError:
            continue
    os._exit(0)
