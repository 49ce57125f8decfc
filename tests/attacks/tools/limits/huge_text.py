"""Raises an exception with a text of 60 megabytes.

Contained: its beginning is reported.
"""


class Long(Exception):
    def __str__(self):
        return "x" * (60 << 20)


def attack():
    raise Long
