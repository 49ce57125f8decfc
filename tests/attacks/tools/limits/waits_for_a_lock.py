"""Waits for a lock that nobody gives back, with every signal blocked.

Contained: killed at the time limit; SIGKILL cannot be blocked.
"""

import signal
import threading


def attack():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
    return "breach: came back"
