"""Keeps a count on its module level, to see whether one process serves two calls.

Contained: each call finds 1.
"""

COUNT = []


def attack():
    COUNT.append(1)
    return "held" if len(COUNT) == 1 else f"breach: {len(COUNT)} calls"
