"""Reads its connection after its arguments, for what is meant for another call.

Contained: the host sends one request to a connection, and nothing follows.
"""

import os
import stat


def attack():
    found = b""
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.set_blocking(number, False)
                found += os.read(number, 1 << 20)
                os.set_blocking(number, True)
        except BlockingIOError:
            os.set_blocking(number, True)
        except OSError:
            continue
    return f"breach: {found!r}" if found else "held"
