"""Makes sockets of families that few filters think of: netlink, packet, vsock, Bluetooth, crypto.

Contained: refused whichever the family.
"""

import socket


def attack():
    made = []
    for family in range(50):
        for kind in (1, 2, 3, 5):
            try:
                socket.socket(family, kind, 0).close()
            except OSError:
                continue
            made.append(family)
    return f"breach: {sorted(set(made))}" if made else "held"
