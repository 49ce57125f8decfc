"""Begins its result just before the time is up, and sends the rest in drops long after.

Contained: the whole result counts, and only within the time; the call timed out.
"""

import os
import stat
import struct
import time


def attack():
    time.sleep(0.4)
    for number in range(3, 24):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
        except OSError:
            continue
        os.write(number, struct.pack(">I", 500_001) + b"r")
        for _ in range(500_000):
            os.write(number, b"1")
            time.sleep(0.0001)
