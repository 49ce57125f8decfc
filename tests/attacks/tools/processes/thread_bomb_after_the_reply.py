"""Replies by itself, then fills the room for threads while the next processes are to be made.

Contained: the process is killed with its reply, and the worker tries again until there is room.
"""

import os
import stat
import struct
import threading
import time


def attack():
    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, struct.pack(">I", 5) + b'r"ok"'[:5])
        except OSError:
            continue
    threading.stack_size(32768)
    while True:
        try:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        except (RuntimeError, MemoryError):
            pass
