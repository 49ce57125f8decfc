"""Fare zones of the Brightwater Light Railway, a network made up for this tool."""

ZONES = (
    ("cathedral", "fishmarket", "harbour"),
    ("arboretum", "lighthouse", "university"),
    ("airfield", "dunes", "millpond", "observatory"),
    ("foundry", "orchard", "quarry", "saltworks", "stadium"),
)


def brightwater_zones(stations: list[str]) -> int | dict[str, str]:
    """Return how many different fare zones a list of stations touches."""
    touched: set[int] = set()
    for station in stations:
        key = " ".join(station.split()).casefold()
        homes = [number for number, zone in enumerate(ZONES, 1) if key in zone]
        if not homes:
            known = ", ".join(sorted(name for zone in ZONES for name in zone))
            return {"error": f"stations: {station!r} lies in no fare zone; known are {known}"}
        touched.update(homes)
    return len(touched)
