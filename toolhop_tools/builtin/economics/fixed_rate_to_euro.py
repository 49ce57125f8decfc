"""Conversion at the rates that the Council of the European Union fixed for good."""

from decimal import ROUND_HALF_UP, Decimal

# Units of the former currency for one euro, six figures each.
RATES = {
    "ATS": "13.7603",
    "BEF": "40.3399",
    "CYP": "0.585274",
    "DEM": "1.95583",
    "EEK": "15.6466",
    "ESP": "166.386",
    "FIM": "5.94573",
    "FRF": "6.55957",
    "GRD": "340.750",
    "HRK": "7.53450",
    "IEP": "0.787564",
    "ITL": "1936.27",
    "LTL": "3.45280",
    "LUF": "40.3399",
    "LVL": "0.702804",
    "MTL": "0.429300",
    "NLG": "2.20371",
    "PTE": "200.482",
    "SIT": "239.640",
    "SKK": "30.1260",
}


def fixed_rate_to_euro(
    amount: float, currency: str, from_euro: bool = False
) -> float | dict[str, str]:
    """Return an amount of a former currency in euros, or the other way, to two decimals."""
    rate = RATES.get(currency.strip().upper())
    if rate is None:
        codes = ", ".join(RATES)
        return {"error": f"currency: {currency!r} has no fixed rate; codes with one are {codes}"}
    exact = Decimal(str(amount))
    converted = exact * Decimal(rate) if from_euro else exact / Decimal(rate)
    return float(converted.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))
