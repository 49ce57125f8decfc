"""Announces a hundred bytes, sends three and ends.

Contained: it died without a result.
"""

import os
import stat


def attack():
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, b"\0\0\0\x64r12")
        except OSError:
            continue
    os._exit(0)
