"""Division with remainder."""

from fractions import Fraction


def divide_whole(
    dividend: float, divisor: float, want: str = "quotient"
) -> int | float | dict[str, str]:
    """Return how many whole times the divisor fits into the dividend, or what then is left."""
    if divisor == 0:
        return {"error": "divisor: nothing can be divided by 0; give another divisor"}
    quotient, remainder = divmod(Fraction(str(dividend)), Fraction(str(divisor)))
    if want == "quotient":
        return quotient
    return int(remainder) if remainder.denominator == 1 else float(remainder)
