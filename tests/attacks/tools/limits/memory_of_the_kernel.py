"""Fills pipes and sockets, whose memory is the kernel's and not the process's.

Contained: few descriptors, each with little room.
"""

import os


def attack():
    total = 0
    try:
        while True:
            _, end = os.pipe()
            os.set_blocking(end, False)
            try:
                while True:
                    total += os.write(end, bytes(4096))
            except BlockingIOError:
                pass
    except OSError:
        mib = total >> 20
        return f"breach: {mib} MiB" if mib > 4 else "held: less than 4 MiB"
