"""How many boxes, reels or vials hold an amount."""

import math
from fractions import Fraction


def containers_needed(amount: float, capacity: float, spare: int = 0) -> int:
    """Return how many containers of a capacity hold an amount, plus spare ones.

    Amount and capacity are in the same unit; a container begun counts as a whole one.
    """
    filled = math.ceil(Fraction(str(amount)) / Fraction(str(capacity)))
    return filled + int(spare)
