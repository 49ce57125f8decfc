"""Writes bytes that are no UTF-8, with an encoded surrogate among them, as its result.

Contained: the host decodes strictly; the result is no JSON.
"""

import os
import stat
import struct


def attack():
    body = b'r"\xed\xa0\x80\xff\xc0\x80"'
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, struct.pack(">I", len(body)) + body)
        except OSError:
            continue
    os._exit(0)
