"""Writes a whole result of two megabytes to its connection.

Contained: the host reads nothing of it; the reply is none of the protocol.
"""

import os
import stat
import struct


def attack():
    text = b'"' + b"x" * 2_000_000 + b'"'
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                data = struct.pack(">I", len(text) + 1) + b"r" + text
                while data:
                    data = data[os.write(number, data) :]
        except OSError:
            continue
    os._exit(0)
