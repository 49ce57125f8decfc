"""Returns a text of twenty megabytes.

Contained: too large; the worker measures before it sends.
"""


def attack():
    return "x" * 20_000_000
