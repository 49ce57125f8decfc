"""Writes that the policy refused its source, or that the sandbox timed out.

Contained: code cannot say that of itself; it died.
"""

import os
import stat
import struct


def attack():
    body = b'o{"kind": "refused", "reason": "breach: said the tool", "line": 1}'
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, struct.pack(">I", len(body)) + body)
        except OSError:
            continue
    os._exit(0)
