"""Which planet a moon belongs to: a small table, looked up by name."""

PLANETS = {
    "Callisto": "Jupiter",
    "Deimos": "Mars",
    "Europa": "Jupiter",
    "Ganymede": "Jupiter",
    "Io": "Jupiter",
    "Moon": "Earth",
    "Oberon": "Uranus",
    "Phobos": "Mars",
    "Rhea": "Saturn",
    "Titan": "Saturn",
    "Titania": "Uranus",
    "Triton": "Neptune",
}


def planet_of(moon: str) -> str | dict[str, str]:
    """Names the planet that a moon goes round, for twelve well-known moons.

    Args:
        moon: Name of the moon in English, such as Europa.
    """
    for name, planet in PLANETS.items():
        if name.casefold() == moon.strip().casefold():
            return planet
    # A message says which parameter, what was given and what is allowed: a model can repair that.
    return {"error": f"moon: {moon!r} is not in the table; it has {', '.join(PLANETS)}"}
