"""Writes a whole result a little longer than one may be, which the worker would not send.

Contained: the host measures it as well; too large.
"""

import os
import stat
import struct


def attack():
    text = b'"' + b"x" * 1_000_100 + b'"'
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                data = struct.pack(">I", len(text) + 1) + b"r" + text
                while data:
                    data = data[os.write(number, data) :]
        except OSError:
            continue
    os._exit(0)
