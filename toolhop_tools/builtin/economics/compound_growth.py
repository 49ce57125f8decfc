"""Interest on interest."""

from decimal import ROUND_HALF_UP, Decimal


def compound_growth(
    principal: float, annual_percent: float, years: int, periods_a_year: int = 1
) -> float:
    """Return what a deposit has grown to with compound interest, to two decimals.

    Interest is added once a period and not rounded in between.
    """
    periods = int(periods_a_year)
    factor = 1 + Decimal(str(annual_percent)) / (100 * periods)
    grown = Decimal(str(principal)) * factor ** (periods * int(years))
    return float(grown.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))
