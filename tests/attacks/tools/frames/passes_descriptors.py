"""Passes its descriptors to the host along with a result, to fill the host's table.

Contained: `sendmsg` is refused, and the host receives without room for descriptors.
"""

import array
import os
import socket
import stat
import struct


def attack():
    for number in range(3, 24):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
        except OSError:
            continue
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, number)
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2] * 10))]
        try:
            connection.sendmsg([struct.pack(">I", 8) + b'r"given"'], passed)
        except OSError as error:
            connection.detach()
            return f"held: {error.strerror}"
    return "breach: passed"
