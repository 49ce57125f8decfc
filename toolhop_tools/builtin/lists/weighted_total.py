"""Sums of products."""

from decimal import ROUND_HALF_UP, Decimal


def weighted_total(
    values: list[float], weights: list[float], mean: bool = False, decimals: int = 2
) -> int | float | dict[str, str]:
    """Return the sum of each value times its weight, or the weighted mean.

    Rounded half up to the decimals wanted; a whole number comes back as an integer.
    """
    if len(values) != len(weights):
        return {
            "error": f"weights: {len(weights)} given for {len(values)} values; give one for each"
        }
    pairs = zip(values, weights, strict=True)
    total = sum((Decimal(str(value)) * Decimal(str(weight)) for value, weight in pairs), Decimal(0))
    if mean:
        divisor = sum((Decimal(str(weight)) for weight in weights), Decimal(0))
        if divisor <= 0:
            return {"error": f"weights: they add up to {divisor}; a mean needs a positive sum"}
        total = total / divisor
    rounded = total.quantize(Decimal(1).scaleb(-int(decimals)), rounding=ROUND_HALF_UP)
    return int(rounded) if rounded == int(rounded) else float(rounded)
