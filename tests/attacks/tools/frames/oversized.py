"""Announces four gigabytes and sends what it can.

Contained: nothing is read beyond the limit; the reply is none of the protocol.
"""

import os
import stat


def attack():
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.set_blocking(number, False)
                os.write(number, b"\xff\xff\xff\xff" + b"r" * 100_000)
        except OSError:
            continue
    os._exit(0)
