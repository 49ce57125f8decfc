"""Starts as many threads as it can, with the smallest stack, and keeps them until it is killed.

Contained: in Docker by the container's 48 processes, elsewhere by the address space; the worker
waits until the killed threads have left.
"""

import threading
import time


def attack():
    threading.stack_size(32768)
    count = 0
    try:
        while count < 20_000:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            count += 1
    except (RuntimeError, MemoryError):
        pass
    while True:
        time.sleep(1)
