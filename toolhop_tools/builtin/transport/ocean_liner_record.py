"""Launches and maiden voyages of passenger ships."""

# Launched (or floated out), and sailed with passengers for the first time.
SHIPS = {
    "Great Western": ("1837-07-19", "1838-04-08"),
    "Great Britain": ("1843-07-19", "1845-07-26"),
    "Great Eastern": ("1858-01-31", "1860-06-17"),
    "Kaiser Wilhelm der Grosse": ("1897-05-04", "1897-09-19"),
    "Lusitania": ("1906-06-07", "1907-09-07"),
    "Mauretania": ("1906-09-20", "1907-11-16"),
    "Olympic": ("1910-10-20", "1911-06-14"),
    "Titanic": ("1911-05-31", "1912-04-10"),
    "Aquitania": ("1913-04-21", "1914-05-30"),
    "Bremen": ("1928-08-16", "1929-07-16"),
    "Normandie": ("1932-10-29", "1935-05-29"),
    "Queen Mary": ("1934-09-26", "1936-05-27"),
    "United States": ("1951-06-23", "1952-07-03"),
    "Andrea Doria": ("1951-06-16", "1953-01-14"),
    "Queen Elizabeth 2": ("1967-09-20", "1969-05-02"),
    "Queen Mary 2": ("2003-03-21", "2004-01-12"),
}
PREFIXES = ("rms ", "ss ", "qsmv ", "ms ")


def ocean_liner_record(ship: str, event: str) -> str | dict[str, str]:
    """Return the day a passenger ship was launched or set out on its maiden voyage."""
    wanted = " ".join(ship.split()).casefold()
    for prefix in PREFIXES:
        wanted = wanted.removeprefix(prefix)
    for name, (launch, maiden_voyage) in SHIPS.items():
        if name.casefold() == wanted:
            return launch if event == "launch" else maiden_voyage
    return {"error": f"ship: {ship!r} is not in the register; it has {', '.join(SHIPS)}"}
