"""Units of measure and their conversion."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

PLACES = 1
"""Decimals of a converted value; every question with a conversion mentions them."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measure."""

    symbol: str
    """Symbol in a field's name: ``length_m``."""
    measures: str
    """Measured quantity; units with the same quantity convert into each other."""
    size: Fraction
    """Size in the quantity's first unit."""


UNITS: dict[str, Unit] = {
    "metres": Unit("m", "length", Fraction(1)),
    "feet": Unit("ft", "length", Fraction(3048, 10_000)),
    "kilometres": Unit("km", "distance", Fraction(1)),
    "miles": Unit("mi", "distance", Fraction(1_609_344, 1_000_000)),
    "kilograms": Unit("kg", "mass", Fraction(1)),
    "pounds": Unit("lb", "mass", Fraction(45_359_237, 100_000_000)),
    "tonnes": Unit("t", "weight", Fraction(1)),
    "short tons": Unit("st", "weight", Fraction(90_718_474, 100_000_000)),
    "hectares": Unit("ha", "area", Fraction(1)),
    "acres": Unit("ac", "area", Fraction(40_468_564_224, 100_000_000_000)),
    "square kilometres": Unit("km2", "land", Fraction(1)),
    "square miles": Unit("mi2", "land", Fraction(2_589_988_110_336, 1_000_000_000_000)),
    "litres": Unit("l", "volume", Fraction(1)),
    "US gallons": Unit("gal", "volume", Fraction(3_785_411_784, 1_000_000_000)),
    "kilowatts": Unit("kw", "power", Fraction(1)),
    "horsepower": Unit("hp", "power", Fraction(745_699_872, 1_000_000_000)),
    "minutes": Unit("min", "duration", Fraction(1)),
    "hours": Unit("h", "duration", Fraction(60)),
}
"""Units by the name that questions use.

Sizes follow the international definitions (yard and pound agreement of 1959; the US gallon of 231
cubic inches; mechanical horsepower).
"""


def others(unit: str) -> list[str]:
    """Return the units to which one can be converted; empty for a domain's own unit."""
    if unit not in UNITS:
        return []
    measures = UNITS[unit].measures
    return [name for name, other in UNITS.items() if other.measures == measures and name != unit]


def converted(value: float | str, unit: str, into: str) -> float:
    """Convert a value, rounded to `PLACES` decimals (half to even, from the exact value).

    Raises:
        KeyError: one of the units is unknown.
        ValueError: the value is a text.
    """
    exact = Fraction(value) * UNITS[unit].size / UNITS[into].size
    return float(round(exact, PLACES))
