"""Prints a line to both streams.

Contained: nobody keeps it.
"""

import os


def attack():
    for number in (1, 2):
        os.write(number, b"toolhop-printed\n")
    return "held"
