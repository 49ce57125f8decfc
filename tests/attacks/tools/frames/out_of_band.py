"""Sends and asks for out-of-band bytes, the rarest path of a Unix socket.

That path gave attackers the kernel (CVE-2025-38236), from inside Chrome's own sandbox.

Contained: the flag is refused.
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
        for name, attempt in (
            ("send", lambda: connection.send(b"x", socket.MSG_OOB)),
            ("recv", lambda: connection.recv(1, socket.MSG_OOB | socket.MSG_DONTWAIT)),
        ):
            try:
                attempt()
            except PermissionError:
                continue
            except OSError:
                pass
            done.append(name)
        connection.detach()
    return f"breach: {done}" if done else "held"
