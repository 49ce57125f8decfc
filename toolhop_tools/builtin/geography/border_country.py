"""Land borders inside South America."""

BORDERS = {
    "Argentina": {"Bolivia", "Brazil", "Chile", "Paraguay", "Uruguay"},
    "Bolivia": {"Argentina", "Brazil", "Chile", "Paraguay", "Peru"},
    "Brazil": {
        "Argentina",
        "Bolivia",
        "Colombia",
        "French Guiana",
        "Guyana",
        "Paraguay",
        "Peru",
        "Suriname",
        "Uruguay",
        "Venezuela",
    },
    "Chile": {"Argentina", "Bolivia", "Peru"},
    "Colombia": {"Brazil", "Ecuador", "Peru", "Venezuela"},
    "Ecuador": {"Colombia", "Peru"},
    "French Guiana": {"Brazil", "Suriname"},
    "Guyana": {"Brazil", "Suriname", "Venezuela"},
    "Paraguay": {"Argentina", "Bolivia", "Brazil"},
    "Peru": {"Bolivia", "Brazil", "Chile", "Colombia", "Ecuador"},
    "Suriname": {"Brazil", "French Guiana", "Guyana"},
    "Uruguay": {"Argentina", "Brazil"},
    "Venezuela": {"Brazil", "Colombia", "Guyana"},
}


def border_country(countries: list[str], position: int = 1) -> str | dict[str, str]:
    """Return the country at ``position``, in alphabetical order, that touches all those given."""
    names = {name.casefold(): name for name in BORDERS}
    shared = set(BORDERS)
    for country in countries:
        name = names.get(" ".join(country.split()).casefold())
        if name is None:
            known = ", ".join(BORDERS)
            return {"error": f"countries: {country!r} is not covered; use names out of {known}"}
        shared = shared & BORDERS[name]
    if not shared:
        return {"error": "countries: no country borders all of these; give fewer or other ones"}
    if position > len(shared):
        return {
            "error": f"position: {position} is too high, only {len(shared)} fit; "
            f"use 1 to {len(shared)}"
        }
    return sorted(shared)[int(position) - 1]
