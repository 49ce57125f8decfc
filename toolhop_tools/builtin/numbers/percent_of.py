"""Percentages."""

from fractions import Fraction


def percent_of(part: float, whole: float) -> float | dict[str, str]:
    """Return which percentage the part is of the whole, to six decimals."""
    if abs(whole) < 0.000001:
        return {"error": f"whole: {whole} is zero or nearly so; give at least 0.000001"}
    return round(float(100 * Fraction(str(part)) / Fraction(str(whole))), 6)
