"""Shuts its connection down in one direction, changes its options, and asks who is at its end.

Contained: refused; all that it can do is close it.
"""

import os
import socket
import stat


def attack():
    done = []
    for number in range(3, 24):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
        except OSError:
            continue
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, number)
        for name, attempt in {
            "shutdown": lambda: connection.shutdown(socket.SHUT_RD),
            "option": lambda: connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24),
            "peer": lambda: connection.getsockopt(socket.SOL_SOCKET, 17, 12),
            "name": lambda: connection.getpeername(),
        }.items():
            try:
                attempt()
            except OSError:
                continue
            done.append(name)
        connection.detach()
    return f"breach: {done}" if done else "held"
