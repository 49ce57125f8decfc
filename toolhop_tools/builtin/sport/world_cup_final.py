"""The men's football World Cup of FIFA, 1930 to 2022."""

COLUMNS = ("winner", "runner_up", "host")
CUPS = {
    1930: ("Uruguay", "Argentina", "Uruguay"),
    1934: ("Italy", "Czechoslovakia", "Italy"),
    1938: ("Italy", "Hungary", "France"),
    1950: ("Uruguay", "Brazil", "Brazil"),
    1954: ("West Germany", "Hungary", "Switzerland"),
    1958: ("Brazil", "Sweden", "Sweden"),
    1962: ("Brazil", "Czechoslovakia", "Chile"),
    1966: ("England", "West Germany", "England"),
    1970: ("Brazil", "Italy", "Mexico"),
    1974: ("West Germany", "Netherlands", "West Germany"),
    1978: ("Argentina", "Netherlands", "Argentina"),
    1982: ("Italy", "West Germany", "Spain"),
    1986: ("Argentina", "West Germany", "Mexico"),
    1990: ("West Germany", "Argentina", "Italy"),
    1994: ("Brazil", "Italy", "United States"),
    1998: ("France", "Brazil", "France"),
    2002: ("Brazil", "Germany", "South Korea and Japan"),
    2006: ("Italy", "France", "Germany"),
    2010: ("Spain", "Netherlands", "South Africa"),
    2014: ("Germany", "Argentina", "Brazil"),
    2018: ("France", "Croatia", "Russia"),
    2022: ("Argentina", "France", "Qatar"),
}


def world_cup_final(year: int, role: str = "winner") -> str | dict[str, str]:
    """Return the winner, the runner-up or the host of that year's tournament."""
    row = CUPS.get(int(year))
    if row is None:
        known = ", ".join(str(held) for held in CUPS)
        return {"error": f"year: there was no World Cup in {year}; the years are {known}"}
    return row[COLUMNS.index(role)]
