"""Writes a result nested 200,000 times to its connection, to overflow the host's parser.

Contained: the host's parser gives up, and the result is no JSON.
"""

import os
import stat
import struct


def attack():
    body = b"r" + b"[" * 200_000 + b"]" * 200_000
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.set_blocking(number, True)
                view = memoryview(struct.pack(">I", len(body)) + body)
                while view:
                    view = view[os.write(number, view) :]
        except OSError:
            continue
    os._exit(0)
