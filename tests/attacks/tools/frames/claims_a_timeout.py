"""Ends itself by the signal that the kernel sends where processor time is used up.

Contained: that its time was up is for the host's clock to say; it died.
"""

import signal


def attack():
    signal.raise_signal(signal.SIGXCPU)
    return "breach: it went on"
