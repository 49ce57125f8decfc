"""Where rivers end: the water they flow into and the country of the mouth."""

MOUTHS = {
    "amazon": ("Atlantic Ocean", "Brazil"),
    "dnieper": ("Black Sea", "Ukraine"),
    "ebro": ("Mediterranean Sea", "Spain"),
    "elbe": ("North Sea", "Germany"),
    "essequibo": ("Atlantic Ocean", "Guyana"),
    "indus": ("Arabian Sea", "Pakistan"),
    "irrawaddy": ("Andaman Sea", "Myanmar"),
    "lena": ("Laptev Sea", "Russia"),
    "limpopo": ("Indian Ocean", "Mozambique"),
    "loire": ("Atlantic Ocean", "France"),
    "mackenzie": ("Beaufort Sea", "Canada"),
    "magdalena": ("Caribbean Sea", "Colombia"),
    "mekong": ("South China Sea", "Vietnam"),
    "niger": ("Gulf of Guinea", "Nigeria"),
    "nile": ("Mediterranean Sea", "Egypt"),
    "ob": ("Kara Sea", "Russia"),
    "orinoco": ("Atlantic Ocean", "Venezuela"),
    "po": ("Adriatic Sea", "Italy"),
    "rhine": ("North Sea", "Netherlands"),
    "rhone": ("Mediterranean Sea", "France"),
    "sao francisco": ("Atlantic Ocean", "Brazil"),
    "seine": ("English Channel", "France"),
    "tagus": ("Atlantic Ocean", "Portugal"),
    "thames": ("North Sea", "United Kingdom"),
    "tiber": ("Tyrrhenian Sea", "Italy"),
    "vistula": ("Baltic Sea", "Poland"),
    "volga": ("Caspian Sea", "Russia"),
    "yangtze": ("East China Sea", "China"),
    "yukon": ("Bering Sea", "United States"),
    "zambezi": ("Indian Ocean", "Mozambique"),
}


def river_mouth(river: str, want: str = "water") -> str | dict[str, str]:
    """Return the sea that the river reaches, or the country in which its mouth lies."""
    key = " ".join(river.split()).casefold().removesuffix(" river")
    if key not in MOUTHS:
        return {"error": f"river: {river!r} is not listed; listed rivers: {', '.join(MOUTHS)}"}
    water, country = MOUTHS[key]
    return water if want == "water" else country
