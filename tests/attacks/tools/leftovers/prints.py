"""Prints a hundred megabytes, to both streams and past Python.

Contained: it goes to /dev/null; no log grows.
"""

import os
import sys


def attack():
    for _ in range(100):
        print("x" * 500_000)
        sys.stderr.write("x" * 500_000)
        os.write(1, b"x" * 100_000)
        os.write(2, b"x" * 100_000)
    return "held"
