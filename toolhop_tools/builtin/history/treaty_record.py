"""Treaties of the nineteenth and twentieth centuries."""

# Opened for signature or signed on, and the town where that was done.
TREATIES = {
    "treaty of ghent": ("1814-12-24", "Ghent"),
    "treaty of nanking": ("1842-08-29", "Nanjing"),
    "treaty of guadalupe hidalgo": ("1848-02-02", "Guadalupe Hidalgo"),
    "metre convention": ("1875-05-20", "Paris"),
    "treaty of versailles": ("1919-06-28", "Versailles"),
    "treaty of trianon": ("1920-06-04", "Versailles"),
    "treaty of lausanne": ("1923-07-24", "Lausanne"),
    "kellogg-briand pact": ("1928-08-27", "Paris"),
    "charter of the united nations": ("1945-06-26", "San Francisco"),
    "north atlantic treaty": ("1949-04-04", "Washington"),
    "treaty of paris on coal and steel": ("1951-04-18", "Paris"),
    "treaty of san francisco": ("1951-09-08", "San Francisco"),
    "austrian state treaty": ("1955-05-15", "Vienna"),
    "treaty of rome": ("1957-03-25", "Rome"),
    "antarctic treaty": ("1959-12-01", "Washington"),
    "elysee treaty": ("1963-01-22", "Paris"),
    "partial test ban treaty": ("1963-08-05", "Moscow"),
    "helsinki final act": ("1975-08-01", "Helsinki"),
    "maastricht treaty": ("1992-02-07", "Maastricht"),
    "good friday agreement": ("1998-04-10", "Belfast"),
}


def treaty_record(treaty: str, detail: str = "signing day") -> str | dict[str, str]:
    """Return the day a treaty was signed, as an ISO date, or the town where that happened."""
    key = " ".join(treaty.replace("É", "e").replace("é", "e").split()).casefold()
    entry = TREATIES.get(key.removeprefix("the "))
    if entry is None:
        return {"error": f"treaty: {treaty!r} is not listed; use one of {', '.join(TREATIES)}"}
    return entry[0] if detail == "signing day" else entry[1]
