"""Returns while a thread of it goes on writing results, and an exit handler sleeps.

Contained: one reply is read, and the process is gone.
"""

import atexit
import os
import stat
import struct
import threading
import time


def attack():
    def write(number):
        time.sleep(0.01)
        while True:
            os.write(number, struct.pack(">I", 18) + b'r"breach: thread"')

    for number in range(3, 24):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                threading.Thread(target=write, args=(number,), daemon=True).start()
        except OSError:
            continue
    atexit.register(time.sleep, 60)
    return "held"
