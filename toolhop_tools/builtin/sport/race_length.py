"""Lengths of standard races in running and walking."""

from fractions import Fraction

METRES = {
    "100 metres": "100",
    "200 metres": "200",
    "400 metres": "400",
    "800 metres": "800",
    "1500 metres": "1500",
    "mile": "1609.344",
    "steeplechase": "3000",
    "5000 metres": "5000",
    "10000 metres": "10000",
    "10 miles": "16093.44",
    "20 km walk": "20000",
    "half marathon": "21097.5",
    "30 km": "30000",
    "marathon": "42195",
    "50 km walk": "50000",
    "100 km ultramarathon": "100000",
}
UNITS = {"m": "1", "km": "1000", "miles": "1609.344"}


def race_length(race: str, unit: str = "km") -> float | dict[str, str]:
    """Return the official length of the race, rounded to six decimals."""
    key = " ".join(race.split()).casefold()
    if key not in METRES:
        return {
            "error": f"race: {race!r} is not a standard race here; these are {', '.join(METRES)}"
        }
    return round(float(Fraction(METRES[key]) / Fraction(UNITS[unit])), 6)
