"""Days on which countries adopted the euro."""

ADOPTED = {
    "1999-01-01": (
        "Austria, Belgium, Finland, France, Germany, Ireland, Italy, Luxembourg, Netherlands, "
        "Portugal, Spain"
    ),
    "2001-01-01": "Greece",
    "2007-01-01": "Slovenia",
    "2008-01-01": "Cyprus, Malta",
    "2009-01-01": "Slovakia",
    "2011-01-01": "Estonia",
    "2014-01-01": "Latvia",
    "2015-01-01": "Lithuania",
    "2023-01-01": "Croatia",
}


def euro_adoption_days(countries: list[str]) -> list[str] | dict[str, str]:
    """Return the day each country adopted the euro, as ISO dates in the order given."""
    days = {name.casefold(): day for day, names in ADOPTED.items() for name in names.split(", ")}
    found: list[str] = []
    for country in countries:
        day = days.get(" ".join(country.split()).casefold().removeprefix("the "))
        if day is None:
            members = ", ".join(ADOPTED.values())
            return {"error": f"countries: no day for {country!r}; there is one for {members}"}
        found.append(day)
    return found
