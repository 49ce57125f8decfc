"""Players of one side who take part at the same time."""

SIZES = {
    "american football": 11,
    "association football": 11,
    "australian rules football": 18,
    "baseball": 9,
    "basketball": 5,
    "beach volleyball": 2,
    "cricket": 11,
    "curling": 4,
    "field hockey": 11,
    "futsal": 5,
    "gaelic football": 15,
    "handball": 7,
    "hurling": 15,
    "ice hockey": 6,
    "kabaddi": 7,
    "korfball": 8,
    "netball": 7,
    "polo": 4,
    "rugby league": 13,
    "rugby sevens": 7,
    "rugby union": 15,
    "ultimate": 7,
    "volleyball": 6,
    "water polo": 7,
}
SYNONYMS = {"football": "association football", "soccer": "association football"}


def team_size(sport: str) -> int | dict[str, str]:
    """Return how many players a full side has in play, the goalkeeper included."""
    key = " ".join(sport.split()).casefold()
    key = SYNONYMS.get(key, key)
    if key not in SIZES:
        return {
            "error": f"sport: {sport!r} is not a listed team sport; listed are {', '.join(SIZES)}"
        }
    return SIZES[key]
