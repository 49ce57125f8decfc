"""Special words for young animals that belong to one kind of animal only."""

PARENTS = {
    "cockerel": "chicken",
    "codling": "cod",
    "cygnet": "swan",
    "elver": "eel",
    "ephyra": "jellyfish",
    "fawn": "deer",
    "gosling": "goose",
    "heifer": "cow",
    "hoglet": "hedgehog",
    "keet": "guinea fowl",
    "kid": "goat",
    "lamb": "sheep",
    "leveret": "hare",
    "parr": "salmon",
    "peachick": "peafowl",
    "piglet": "pig",
    "porcupette": "porcupine",
    "puppy": "dog",
    "smolt": "salmon",
    "spiderling": "spider",
    "squab": "pigeon",
}


def animal_of_young(young: str) -> str | dict[str, str]:
    """Return the animal whose young (or young of one sex) is called by the word."""
    key = young.strip().casefold()
    if key not in PARENTS:
        return {"error": f"young: {young!r} is not a word in the list; it has {', '.join(PARENTS)}"}
    return PARENTS[key]
