"""Computes for ever on its module level, which may run before the call, beside other calls.

Contained: it costs processor time up to the call's own limit; the call times out, others do not.
"""

while True:
    pass


def attack():
    return "breach: came that far"
