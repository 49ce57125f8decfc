"""Forks twice into a session of its own, to live on when the call is over.

Contained: refused.
"""

import os
import time


def attack():
    try:
        child = os.fork()
        if child == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            time.sleep(5)
            os._exit(0)
        os.waitpid(child, 0)
    except OSError as error:
        return f"held: {error.strerror}"
    return "breach: a daemon runs"
