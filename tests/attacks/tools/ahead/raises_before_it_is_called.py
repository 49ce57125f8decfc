"""Raises on its module level, or swallows what ends it, so that no ready process is left.

Contained: that is the call's outcome.
"""

raise SystemExit("breach" == "held")


def attack():
    return "breach: went on"
