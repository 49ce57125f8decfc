"""Connects to an abstract socket that a process of the host listens on.

Contained: refused.
"""

import socket


def attack(paths):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        one.connect("\0" + paths[1])
    except OSError:
        return "held"
    return "breach: connected"
