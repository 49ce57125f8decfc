"""Writes an exception whose line and texts are absurd: to mislead, or to break a log.

Contained: the host cuts texts and takes no line that no source can have.
"""

import os
import stat
import struct


def attack():
    line = b"9" * 3000
    body = b'o{"kind": "raised", "error": "%s", "message": "%s", "line": -%s}' % (
        b"E" * 5000,
        b"m" * 50_000,
        line,
    )
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, struct.pack(">I", len(body)) + body)
        except OSError:
            continue
    os._exit(0)
