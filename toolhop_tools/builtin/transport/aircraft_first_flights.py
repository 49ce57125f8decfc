"""First flights of aircraft types."""

FLIGHTS = {
    "Douglas DC-3": "1935-12-17",
    "Hughes H-4 Hercules": "1947-11-02",
    "de Havilland Comet": "1949-07-27",
    "Sud Aviation Caravelle": "1955-05-27",
    "Douglas DC-8": "1958-05-30",
    "Vickers VC10": "1962-06-29",
    "Boeing 727": "1963-02-09",
    "Douglas DC-9": "1965-02-25",
    "Boeing 737": "1967-04-09",
    "Tupolev Tu-144": "1968-12-31",
    "Boeing 747": "1969-02-09",
    "Concorde": "1969-03-02",
    "McDonnell Douglas DC-10": "1970-08-29",
    "Lockheed L-1011 TriStar": "1970-11-16",
    "Airbus A300": "1972-10-28",
    "BAe 146": "1981-09-03",
    "Boeing 767": "1981-09-26",
    "Boeing 757": "1982-02-19",
    "Airbus A310": "1982-04-03",
    "Airbus A320": "1987-02-22",
    "Antonov An-225": "1988-12-21",
    "Airbus A340": "1991-10-25",
    "Airbus A330": "1992-11-02",
    "Boeing 777": "1994-06-12",
    "Airbus A380": "2005-04-27",
    "Boeing 787": "2009-12-15",
    "Airbus A350": "2013-06-14",
}


def aircraft_first_flights(aircraft: list[str]) -> list[str] | dict[str, str]:
    """Return the ISO date of each type's first flight, in the order in which they are given."""
    days: list[str] = []
    for given in aircraft:
        wanted = given.replace(" ", "").replace("-", "").casefold()
        fitting = [day for name, day in FLIGHTS.items() if squeezed(name).endswith(wanted)]
        if not wanted or len(fitting) != 1:
            known = ", ".join(FLIGHTS)
            return {"error": f"aircraft: {given!r} is not one type on file; it has {known}"}
        days += fitting
    return days


def squeezed(name: str) -> str:
    """A type's name without hyphens, spaces and capitals."""
    return name.replace(" ", "").replace("-", "").casefold()
