"""Computes for ever on its module level, which may run before the call, beside other calls.

Contained: a second of processor time ahead of the call; the call times out, others do not.
"""

while True:
    pass


def attack():
    return "breach: came that far"
