"""Opening days of bridges."""

OPENED = {
    "1826-01-30": "Menai",
    "1864-12-08": "Clifton",
    "1883-05-24": "Brooklyn",
    "1894-06-30": "Tower Bridge in London",
    "1931-10-25": "George Washington",
    "1932-03-19": "Sydney Harbour",
    "1937-05-27": "Golden Gate",
    "1957-11-01": "Mackinac",
    "1964-09-04": "Forth Road",
    "1964-11-21": "Verrazzano-Narrows",
    "1966-08-06": "25 de Abril",
    "1966-09-08": "Severn",
    "1973-10-30": "Bosphorus",
    "1981-06-24": "Humber",
    "1988-07-03": "Fatih Sultan Mehmet",
    "1998-04-05": "Akashi Kaikyo",
    "1998-06-14": "Storebaelt East",
}


def bridge_opening_day(bridge: str) -> str | dict[str, str]:
    """Return the ISO date on which a bridge was opened for general use."""
    wanted = " ".join(bridge.casefold().replace("-", " ").split())
    short = wanted.removesuffix(" bridge")
    for day, name in OPENED.items():
        if name.casefold().replace("-", " ") in (wanted, short):
            return day
    names = ", ".join(OPENED.values())
    return {"error": f"bridge: {bridge!r} has no opening day here; there are days for {names}"}
