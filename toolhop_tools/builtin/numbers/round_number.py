"""Rounding as taught in school."""

import math
from fractions import Fraction


def round_number(value: float, places: int = 0) -> int | float:
    """Round to decimal places, or with negative places to tens, hundreds..., halves upwards."""
    scale = Fraction(10) ** int(places)
    exact = Fraction(str(value))
    rounded = math.floor(abs(exact) * scale + Fraction(1, 2)) / scale
    signed = -rounded if exact < 0 else rounded
    return int(signed) if places <= 0 else float(signed)
