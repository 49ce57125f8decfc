"""Computes a number of three thousand million digits.

Contained: killed at the time limit, or out of memory.
"""


def attack():
    return len(str(10 ** (10**9)))
