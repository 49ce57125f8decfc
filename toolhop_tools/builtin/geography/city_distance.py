"""Great-circle distances between well-known cities."""

import math
import unicodedata

# Latitude and longitude of the city centres in degrees, north and east positive.
PLACES = {
    "athens": (37.98, 23.73),
    "bangkok": (13.75, 100.50),
    "beijing": (39.90, 116.41),
    "berlin": (52.52, 13.40),
    "bogota": (4.71, -74.07),
    "brasilia": (-15.79, -47.88),
    "budapest": (47.50, 19.04),
    "buenos aires": (-34.60, -58.38),
    "cairo": (30.04, 31.24),
    "canberra": (-35.28, 149.13),
    "dublin": (53.35, -6.26),
    "hanoi": (21.03, 105.85),
    "helsinki": (60.17, 24.94),
    "kathmandu": (27.72, 85.32),
    "lima": (-12.05, -77.04),
    "lisbon": (38.72, -9.14),
    "london": (51.51, -0.13),
    "madrid": (40.42, -3.70),
    "mexico city": (19.43, -99.13),
    "montevideo": (-34.90, -56.16),
    "moscow": (55.75, 37.62),
    "nairobi": (-1.29, 36.82),
    "new delhi": (28.61, 77.21),
    "oslo": (59.91, 10.75),
    "ottawa": (45.42, -75.70),
    "paris": (48.86, 2.35),
    "phnom penh": (11.56, 104.92),
    "quito": (-0.18, -78.47),
    "reykjavik": (64.15, -21.94),
    "rio de janeiro": (-22.91, -43.17),
    "rome": (41.90, 12.50),
    "santiago": (-33.45, -70.67),
    "seoul": (37.57, 126.98),
    "stockholm": (59.33, 18.07),
    "tokyo": (35.68, 139.69),
    "ulaanbaatar": (47.92, 106.91),
    "vienna": (48.21, 16.37),
    "warsaw": (52.23, 21.01),
    "washington": (38.91, -77.04),
    "wellington": (-41.29, 174.78),
}
RADIUS = {"km": 6371.0, "miles": 6371.0 / 1.609344}


def city_distance(origin: str, destination: str, unit: str = "km") -> int | dict[str, str]:
    """Return the haversine distance on a sphere of mean Earth radius, as a whole number."""
    for label, city in (("origin", origin), ("destination", destination)):
        if city_key(city) not in PLACES:
            known = ", ".join(PLACES)
            return {"error": f"{label}: the position of {city!r} is unknown; choose from {known}"}
    lat_a, lon_a = (math.radians(angle) for angle in PLACES[city_key(origin)])
    lat_b, lon_b = (math.radians(angle) for angle in PLACES[city_key(destination)])
    across = math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    half_chord = math.sqrt(math.sin((lat_b - lat_a) / 2) ** 2 + across)
    return round(2 * RADIUS[unit] * math.asin(min(1.0, half_chord)))


def city_key(city: str) -> str:
    """Return the spelling under which the table keeps a city."""
    parts = unicodedata.normalize("NFKD", " ".join(city.split()))
    return "".join(sign for sign in parts if not unicodedata.combining(sign)).casefold()
