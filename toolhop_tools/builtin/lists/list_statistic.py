"""Key figures of a list of numbers."""

import statistics
from fractions import Fraction


def list_statistic(numbers: list[float], statistic: str, decimals: int = 6) -> int | float:
    """Return one key figure of a list of numbers, as a whole number where it is one.

    The figure is computed exactly and rounded once, at the end.
    """
    exact = [Fraction(str(number)) for number in numbers]
    rounded = round(figure(exact, statistic), int(decimals))
    return int(rounded) if rounded.denominator == 1 else float(rounded)


def figure(numbers: list[Fraction], statistic: str) -> Fraction:
    """The key figure as an exact fraction."""
    if statistic == "sum":
        return sum(numbers, Fraction(0))
    if statistic == "mean":
        return statistics.mean(numbers)
    if statistic == "median":
        return statistics.median(numbers)
    if statistic == "minimum":
        return min(numbers)
    if statistic == "maximum":
        return max(numbers)
    return max(numbers) - min(numbers)
