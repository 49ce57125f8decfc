"""Is compared with the `type` that makes classes, where a dataclass's docstring is made.

The library looks for the signature of whatever stands for `__init__`, and asks whether it is
`type`. An object whose `__eq__` keeps what it is asked about had it then.

Contained: the policy is left. What such a class can do, `leaves_and_goes_on` does.
"""

from dataclasses import dataclass

CAUGHT = []


class Asked:
    def __call__(self):
        return None

    def __eq__(self, other):
        CAUGHT.append(other)
        return False


def attack():
    @dataclass(init=False)
    class Film:
        __init__ = Asked()

    @dataclass(init=False)
    class Short:
        __new__ = Asked()

    for one in CAUGHT:
        return f"escaped: {one('Made', (), {'__getattribute__': len})}"
    return "held"
