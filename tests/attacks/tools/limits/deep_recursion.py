"""Recurses in C with Python's own limit lifted, until the stack runs out.

Contained: that process crashes, and nothing else.
"""

import sys


def attack():
    sys.setrecursionlimit(10**9)
    value = 0
    for _ in range(300_000):
        value = [value]
    return len(repr(value))
