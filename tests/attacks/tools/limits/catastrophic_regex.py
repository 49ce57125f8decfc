"""Matches a pattern that takes exponential time, in one C call.

Contained: killed at the time limit.
"""

import re


def attack():
    return bool(re.match(r"(a+)+$", "a" * 64 + "b"))
