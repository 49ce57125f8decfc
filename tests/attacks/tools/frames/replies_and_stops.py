"""Writes its result and stops itself by a signal, to be there for ever without using anything.

Contained: the result is taken, and what is stopped can be killed.
"""

import os
import signal
import stat
import struct


def attack():
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, struct.pack(">I", 8) + b'r"early"')
        except OSError:
            continue
    signal.raise_signal(signal.SIGSTOP)
