"""Raises an exception whose text never comes, when the function itself is over.

Contained: killed at the time limit, which holds for the whole of the call.
"""


class Silent(Exception):
    def __str__(self):
        while True:
            pass


def attack():
    raise Silent
