"""One result out of a list of numbers."""

import math
from fractions import Fraction


def combine_numbers(numbers: list[float], operation: str) -> int | float:
    """Return the sum, product, spread, mean, largest or smallest of the numbers."""
    # Exact decimals: 0.1 and 0.2 shall add up to 0.3.
    exact = [Fraction(str(number)) for number in numbers]
    if operation == "sum":
        result = sum(exact, Fraction(0))
    elif operation == "product":
        result = math.prod(exact, start=Fraction(1))
    elif operation == "spread":
        result = max(exact) - min(exact)
    elif operation == "mean":
        result = sum(exact, Fraction(0)) / len(exact)
    else:
        result = max(exact) if operation == "largest" else min(exact)
    return int(result) if result.denominator == 1 else float(result)
