"""Spells inner names with letters that Python takes for others, and with escapes.

Contained: names are judged as Python reads them.
"""


def attack():
    return f"escaped: {attack.__ｇlobals__}"
