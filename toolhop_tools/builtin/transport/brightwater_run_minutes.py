"""Running times on the Brightwater Light Railway, a network made up for this tool."""

from itertools import pairwise

# Minutes from a station to each of its neighbours further down the line, stops included.
TIMETABLE = {
    "Harbour": {"Fishmarket": 4},
    "Fishmarket": {"Lighthouse": 6, "Cathedral": 5},
    "Lighthouse": {"Dunes": 7, "Arboretum": 5},
    "Dunes": {"Saltworks": 8, "Airfield": 6},
    "Saltworks": {"Foundry": 5},
    "Foundry": {"Quarry": 9},
    "Quarry": {"Stadium": 7},
    "Cathedral": {"University": 6},
    "University": {"Observatory": 9, "Millpond": 4},
    "Observatory": {"Quarry": 11},
    "Arboretum": {"University": 8},
    "Airfield": {"Stadium": 10},
    "Stadium": {"Millpond": 5},
    "Millpond": {"Orchard": 3},
}


def brightwater_run_minutes(stations: list[str]) -> int | dict[str, str]:
    """Return the minutes a train takes along stations that follow each other on the network."""
    minutes = {
        frozenset((near.casefold(), far.casefold())): time
        for near, legs in TIMETABLE.items()
        for far, time in legs.items()
    }
    keys = [" ".join(station.split()).casefold() for station in stations]
    total = 0
    for near, far in pairwise(keys):
        leg = frozenset((near, far))
        if leg not in minutes:
            return {
                "error": f"stations: no train runs from {near!r} straight to {far!r}; "
                "name every station on the way"
            }
        total += minutes[leg]
    return total
