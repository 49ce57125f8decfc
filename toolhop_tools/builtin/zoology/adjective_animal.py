"""Adjectives that mean "of or like" an animal."""

ANIMALS = {
    "apian": "honey bee",
    "asinine": "donkey",
    "bovine": "cow",
    "canine": "dog",
    "caprine": "goat",
    "cervine": "deer",
    "columbine": "pigeon",
    "corvine": "crow",
    "elephantine": "elephant",
    "equine": "horse",
    "feline": "cat",
    "formic": "ant",
    "leonine": "lion",
    "leporine": "hare",
    "lupine": "wolf",
    "lutrine": "otter",
    "murine": "mouse",
    "ovine": "sheep",
    "pavonine": "peafowl",
    "porcine": "pig",
    "struthious": "ostrich",
    "tigrine": "tiger",
    "ursine": "bear",
    "vespine": "wasp",
    "vulpine": "fox",
}


def adjective_animal(adjective: str) -> str | dict[str, str]:
    """Return the animal to which the adjective refers."""
    key = adjective.strip().casefold()
    if key not in ANIMALS:
        known = ", ".join(ANIMALS)
        return {"error": f"adjective: {adjective!r} is not explained here; try one of {known}"}
    return ANIMALS[key]
