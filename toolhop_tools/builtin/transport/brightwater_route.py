"""Routes on the Brightwater Light Railway, a network made up for this tool."""

from collections import deque
from itertools import pairwise

LINES = {
    "Coast": "Harbour, Fishmarket, Lighthouse, Dunes, Saltworks",
    "Hill": "Fishmarket, Cathedral, University, Observatory, Quarry",
    "Garden": "Lighthouse, Arboretum, University, Millpond",
    "Works": "Saltworks, Foundry, Quarry, Stadium",
    "Airfield": "Dunes, Airfield, Stadium, Millpond, Orchard",
}
LEGS = [leg for line in LINES.values() for leg in pairwise(line.split(", "))]
STATIONS = {name.casefold(): name for leg in LEGS for name in leg}


def brightwater_route(
    start: str, finish: str, closed: list[str] | None = None
) -> list[str] | dict[str, str]:
    """Return the stations of the route with the fewest legs, both ends included.

    Of equally short routes the one whose stations come first in the alphabet is taken. No
    route passes a closed station.
    """
    names: list[str] = []
    stops = [("start", start), ("finish", finish), *(("closed", name) for name in closed or [])]
    for parameter, given in stops:
        name = STATIONS.get(" ".join(given.split()).casefold())
        if name is None:
            known = ", ".join(sorted(STATIONS.values()))
            return {"error": f"{parameter}: {given!r} is no station; stations are {known}"}
        names.append(name)
    route = shortest(names[0], names[1], set(names[2:]))
    if route is None:
        return {"error": f"closed: no way is left from {names[0]} to {names[1]}; close fewer"}
    return route


def shortest(start: str, finish: str, closed: set[str]) -> list[str] | None:
    """Breadth-first search; None where the closed stations cut the ends off."""
    if start in closed or finish in closed:
        return None
    queue = deque([[start]])
    seen = {start}
    while queue:
        route = queue.popleft()
        if route[-1] == finish:
            return route
        for station in sorted({end for leg in LEGS if route[-1] in leg for end in leg}):
            if station not in seen and station not in closed:
                seen.add(station)
                queue.append([*route, station])
    return None
