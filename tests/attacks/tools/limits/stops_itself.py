"""Stops its process by a signal, so that nothing in it can end any more.

Contained: killed at the time limit.
"""

import signal


def attack():
    signal.raise_signal(signal.SIGSTOP)
    return "breach: it went on"
