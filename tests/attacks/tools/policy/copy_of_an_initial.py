"""Has `copy` name `__init__` of a property of the library, which the guard refuses to name.

Contained: `__deepcopy__` is no name that a class may bind.
"""

import copy
from fractions import Fraction


class Given:
    def __deepcopy__(self, memo):
        return Fraction.numerator


def attack():
    copy.deepcopy(Given().__init__)(lambda self: 42)
    return f"escaped: {Fraction(1, 2).numerator}"
