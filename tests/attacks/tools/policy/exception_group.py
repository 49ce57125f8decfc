"""Raises a group whose `split` gives no pair to `except*`, on which interpreters crashed.

CVE-2025-22153.

Contained: `except*` does not compile, and there are no groups.
"""


class Group(ExceptionGroup):
    def split(self, condition):
        return "escaped"


def attack():
    try:
        raise Group("x", [ValueError()])
    except* ValueError as caught:
        return f"escaped: {caught}"
