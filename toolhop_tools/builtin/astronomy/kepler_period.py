"""Kepler's third law."""

import math


def kepler_period(semi_major_axis_au: float, star_mass: float = 1.0) -> float:
    """Return the orbital period in years: the square root of axis cubed over the star's mass."""
    return round(math.sqrt(semi_major_axis_au**3 / star_mass), 6)
