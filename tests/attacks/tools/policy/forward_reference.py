"""Catches a forward reference by comparing equal to it, and evaluates its source.

Contained: what evaluates it is private to the library.
"""

from typing import Union

CAUGHT = []


class Twin:
    def __call__(self):
        return None

    def __eq__(self, other):
        CAUGHT.append(other)
        return False

    def __hash__(self):
        return hash(("__import__('os').getpid()", None))


def attack():
    try:
        Union[Twin(), "__import__('os').getpid()"]
    except TypeError:
        pass
    for caught in CAUGHT:
        try:
            return f"escaped: {getattr(caught, '_eval' + 'uate')({}, {}, frozenset())}"
        except Exception:
            continue
    return f"held: {len(CAUGHT) >= 0}"
