"""Writes a hundred results at once, the first of them small, to have the others taken later.

Contained: the first counts; the rest is thrown away with the connection.
"""

import os
import stat
import struct


def attack():
    frames = b"".join(
        struct.pack(">I", len(body) + 1) + b"r" + body
        for body in (b'"first"', *(b'"breach: a later frame"' for _ in range(100)))
    )
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, frames)
        except OSError:
            continue
    return "breach: the second reply"
