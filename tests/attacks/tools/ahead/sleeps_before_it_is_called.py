"""Sleeps on its module level, to hold the place where programs stand ready.

Contained: the call times out; others go on.
"""

import time

time.sleep(3600)


def attack():
    return "breach: slept an hour"
