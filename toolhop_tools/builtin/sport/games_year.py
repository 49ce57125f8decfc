"""Host cities of the modern Olympic Games, 1896 to 2024."""

import unicodedata

SUMMER = {
    "amsterdam": (1928,),
    "antwerp": (1920,),
    "athens": (1896, 2004),
    "atlanta": (1996,),
    "barcelona": (1992,),
    "beijing": (2008,),
    "berlin": (1936,),
    "helsinki": (1952,),
    "london": (1908, 1948, 2012),
    "los angeles": (1932, 1984),
    "melbourne": (1956,),
    "mexico city": (1968,),
    "montreal": (1976,),
    "moscow": (1980,),
    "munich": (1972,),
    "paris": (1900, 1924, 2024),
    "rio de janeiro": (2016,),
    "rome": (1960,),
    "seoul": (1988,),
    "st. louis": (1904,),
    "stockholm": (1912,),
    "sydney": (2000,),
    "tokyo": (1964, 2020),
}
WINTER = {
    "albertville": (1992,),
    "beijing": (2022,),
    "calgary": (1988,),
    "chamonix": (1924,),
    "cortina d'ampezzo": (1956,),
    "garmisch-partenkirchen": (1936,),
    "grenoble": (1968,),
    "innsbruck": (1964, 1976),
    "lake placid": (1932, 1980),
    "lillehammer": (1994,),
    "nagano": (1998,),
    "oslo": (1952,),
    "pyeongchang": (2018,),
    "salt lake city": (2002,),
    "sapporo": (1972,),
    "sarajevo": (1984,),
    "sochi": (2014,),
    "squaw valley": (1960,),
    "st. moritz": (1928, 1948),
    "turin": (2006,),
    "vancouver": (2010,),
}


def games_year(city: str, season: str, occasion: int = 1) -> int | dict[str, str]:
    """Return the year of the Games that the city held for the ``occasion``-th time."""
    table = SUMMER if season == "summer" else WINTER
    parts = unicodedata.normalize("NFKD", " ".join(city.split()).replace("\u2019", "'"))
    years = table.get("".join(s for s in parts if not unicodedata.combining(s)).casefold())
    if years is None:
        return {"error": f"city: {city!r} held no {season} Games; hosts were {', '.join(table)}"}
    if occasion > len(years):
        return {
            "error": f"occasion: {occasion} is too high; {season} Games were held here "
            f"{len(years)} time(s)"
        }
    return years[int(occasion) - 1]
