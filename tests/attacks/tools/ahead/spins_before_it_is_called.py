"""Computes for ever on its module level, to hold up calls beside its own.

Contained: it does not run before its call, which times out; others do not.
"""

while True:
    pass


def attack():
    return "breach: came that far"
