"""Walks to a class's bases in the expression and in the format of an f-string.

Contained: names in an f-string are names in source, and refused when it is compiled.
"""


def attack():
    return f"escaped: {().__class__.__base__.__subclasses__()[:2]!r:{().__class__.__name__}}"
