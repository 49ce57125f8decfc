"""Moons of the planets beyond Earth, with their discoveries."""

COLUMNS = ("planet", "discoverer", "year")
MOONS = {
    "phobos": ("Mars", "Asaph Hall", 1877),
    "deimos": ("Mars", "Asaph Hall", 1877),
    "io": ("Jupiter", "Galileo Galilei", 1610),
    "europa": ("Jupiter", "Galileo Galilei", 1610),
    "ganymede": ("Jupiter", "Galileo Galilei", 1610),
    "callisto": ("Jupiter", "Galileo Galilei", 1610),
    "amalthea": ("Jupiter", "Edward Emerson Barnard", 1892),
    "titan": ("Saturn", "Christiaan Huygens", 1655),
    "iapetus": ("Saturn", "Giovanni Domenico Cassini", 1671),
    "rhea": ("Saturn", "Giovanni Domenico Cassini", 1672),
    "tethys": ("Saturn", "Giovanni Domenico Cassini", 1684),
    "dione": ("Saturn", "Giovanni Domenico Cassini", 1684),
    "mimas": ("Saturn", "William Herschel", 1789),
    "enceladus": ("Saturn", "William Herschel", 1789),
    "titania": ("Uranus", "William Herschel", 1787),
    "oberon": ("Uranus", "William Herschel", 1787),
    "ariel": ("Uranus", "William Lassell", 1851),
    "umbriel": ("Uranus", "William Lassell", 1851),
    "miranda": ("Uranus", "Gerard Kuiper", 1948),
    "triton": ("Neptune", "William Lassell", 1846),
    "nereid": ("Neptune", "Gerard Kuiper", 1949),
}


def moon_profile(moon: str, field: str = "planet") -> str | int | dict[str, str]:
    """Return the planet that the moon circles, or who discovered it, or in which year."""
    row = MOONS.get(moon.strip().casefold())
    if row is None:
        return {"error": f"moon: {moon!r} is not in the list; it holds {', '.join(MOONS)}"}
    return row[COLUMNS.index(field)]
