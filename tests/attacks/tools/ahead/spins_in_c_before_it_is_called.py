"""Loops in C on its module level, where no handler of Python's gets its turn.

Contained: it does not run before its call, which times out; others do not.
"""

import itertools

TOTAL = sum(itertools.repeat(0))


def attack():
    return "breach: came that far"
