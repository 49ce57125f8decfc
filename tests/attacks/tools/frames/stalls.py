"""Announces a frame, sends a byte now and then, and keeps the host waiting.

Contained: killed at the time limit of the call, however much has arrived.
"""

import os
import stat
import time


def attack():
    sockets = []
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                sockets.append(number)
        except OSError:
            continue
    os.write(sockets[0], b"\0\0\x0f\xffr")
    while True:
        os.write(sockets[0], b" ")
        time.sleep(0.02)
