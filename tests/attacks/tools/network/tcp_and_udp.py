"""Connects to the machine itself, to the cloud's metadata service and to the internet; listens.

Contained: no socket can be made.
"""

import socket


def attack():
    made = []
    for family in (socket.AF_INET, socket.AF_INET6):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            try:
                connection = socket.socket(family, kind)
            except OSError:
                continue
            made.append(f"{family.name} {kind.name}")
            for address in ("127.0.0.1", "169.254.169.254", "1.1.1.1"):
                connection.settimeout(0.1)
                try:
                    connection.connect((address, 80))
                    made.append(address)
                except OSError:
                    continue
    try:
        made.append(socket.getaddrinfo("example.org", 80))
    except OSError:
        pass
    return f"breach: {made}" if made else "held"
