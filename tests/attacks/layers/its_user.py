"""Asks who it is.

Contained: in a container nobody, who owns nothing.
"""

import os


def attack():
    who = {os.getuid(), os.getgid()}
    return "held" if who == {65534} else f"breach: {who}"
