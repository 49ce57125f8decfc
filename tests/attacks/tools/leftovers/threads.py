"""Returns while threads of it compute, sleep, and wait with a lock held.

Contained: they end with the process, which ends with the reply.
"""

import threading
import time


def attack():
    def compute():
        while True:
            pass

    for target in (compute, compute, lambda: time.sleep(60), threading.Lock().acquire):
        threading.Thread(target=target).start()
    return "held"
