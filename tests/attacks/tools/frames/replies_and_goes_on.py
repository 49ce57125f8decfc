"""Replies by itself and then computes for ever, to take the processor from the calls after it.

Contained: the process is killed with its reply.
"""

import os
import stat
import struct


def attack():
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, struct.pack(">I", 8) + b'r"early"')
        except OSError:
            continue
    while True:
        pass
