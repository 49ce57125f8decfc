"""Loops in a function in C that looks neither at signals nor at other threads.

Contained: killed at the time limit.
"""

import itertools


def attack():
    return sum(itertools.repeat(0))
