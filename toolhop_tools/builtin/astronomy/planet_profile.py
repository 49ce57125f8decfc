"""The eight planets of the solar system."""

PLANETS = {
    "mercury": (1, 2439.7, "terrestrial"),
    "venus": (2, 6051.8, "terrestrial"),
    "earth": (3, 6378.1, "terrestrial"),
    "mars": (4, 3396.2, "terrestrial"),
    "jupiter": (5, 71492.0, "gas giant"),
    "saturn": (6, 60268.0, "gas giant"),
    "uranus": (7, 25559.0, "ice giant"),
    "neptune": (8, 24764.0, "ice giant"),
}


def planet_profile(planet: str, field: str) -> int | float | str | dict[str, str]:
    """Return the planet's place counted from the Sun, its equatorial radius or its kind."""
    key = planet.strip().casefold()
    if key not in PLANETS:
        return {
            "error": f"planet: {planet!r} is not a planet; the planets are {', '.join(PLANETS)}"
        }
    order, radius, kind = PLANETS[key]
    if field == "position":
        return order
    return radius if field == "equatorial_radius_km" else kind
