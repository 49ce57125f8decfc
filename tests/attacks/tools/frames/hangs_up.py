"""Closes its connection and computes for ever.

Contained: the host gives it a second to end, then has it killed; it died.
"""

import os


def attack():
    os.closerange(0, 24)
    while True:
        pass
