"""How long planets need for one way round the Sun."""

DAYS = {
    "Mercury": 88,
    "Venus": 225,
    "Earth": 365,
    "Mars": 687,
    "Jupiter": 4333,
    "Saturn": 10759,
    "Uranus": 30687,
    "Neptune": 60190,
}


def orbit_days(planet: str) -> int | dict[str, str]:
    """Counts the days that a planet needs for one orbit round the Sun, to the nearest day.

    Args:
        planet: Name of the planet in English, such as Venus.
    """
    for name, days in DAYS.items():
        if name.casefold() == planet.strip().casefold():
            return days
    return {"error": f"planet: {planet!r} is not in the table; it has {', '.join(DAYS)}"}
