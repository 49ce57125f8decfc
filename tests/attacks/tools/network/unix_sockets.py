"""Connects to sockets of the machine by path and by abstract name, and makes a pair.

The engine's own socket is among them, and the one through which this worker was started.

Contained: no socket can be made; the worker's start leaves no name behind.
"""

import os
import socket


def attack():
    made = []
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            connection = socket.socket(socket.AF_UNIX, kind)
        except OSError:
            continue
        made.append(kind.name)
        for name in ("/var/run/docker.sock", "/run/toolhop/control.sock", "\0toolhop", "\0/tmp/x"):
            try:
                connection.connect(name)
                made.append(name)
            except OSError:
                continue
    try:
        socket.socketpair()
        made.append("pair")
    except OSError:
        pass
    if os.path.lexists("/run/toolhop/control.sock"):
        made.append("the control socket's name")
    return f"breach: {made}" if made else "held"
