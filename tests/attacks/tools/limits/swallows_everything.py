"""Catches whatever is raised in it, for ever, so that no exception ends it.

Contained: killed at the time limit; limits are signals and not exceptions.
"""


def attack():
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
