"""Basic codes of countries, reachable from the name, the capital or the two-letter code."""

import unicodedata

COLUMNS = ("name", "capital", "calling_code", "currency", "alpha2")
COUNTRIES = (
    ("Argentina", "Buenos Aires", 54, "ARS", "AR"),
    ("Australia", "Canberra", 61, "AUD", "AU"),
    ("Austria", "Vienna", 43, "EUR", "AT"),
    ("Bangladesh", "Dhaka", 880, "BDT", "BD"),
    ("Brazil", "Brasilia", 55, "BRL", "BR"),
    ("Cambodia", "Phnom Penh", 855, "KHR", "KH"),
    ("Chile", "Santiago", 56, "CLP", "CL"),
    ("China", "Beijing", 86, "CNY", "CN"),
    ("Colombia", "Bogota", 57, "COP", "CO"),
    ("Czechia", "Prague", 420, "CZK", "CZ"),
    ("Denmark", "Copenhagen", 45, "DKK", "DK"),
    ("Ecuador", "Quito", 593, "USD", "EC"),
    ("Egypt", "Cairo", 20, "EGP", "EG"),
    ("Ethiopia", "Addis Ababa", 251, "ETB", "ET"),
    ("Finland", "Helsinki", 358, "EUR", "FI"),
    ("France", "Paris", 33, "EUR", "FR"),
    ("Germany", "Berlin", 49, "EUR", "DE"),
    ("Ghana", "Accra", 233, "GHS", "GH"),
    ("Greece", "Athens", 30, "EUR", "GR"),
    ("Hungary", "Budapest", 36, "HUF", "HU"),
    ("Iceland", "Reykjavik", 354, "ISK", "IS"),
    ("India", "New Delhi", 91, "INR", "IN"),
    ("Ireland", "Dublin", 353, "EUR", "IE"),
    ("Japan", "Tokyo", 81, "JPY", "JP"),
    ("Kenya", "Nairobi", 254, "KES", "KE"),
    ("Laos", "Vientiane", 856, "LAK", "LA"),
    ("Mexico", "Mexico City", 52, "MXN", "MX"),
    ("Mongolia", "Ulaanbaatar", 976, "MNT", "MN"),
    ("Nepal", "Kathmandu", 977, "NPR", "NP"),
    ("Norway", "Oslo", 47, "NOK", "NO"),
    ("Paraguay", "Asuncion", 595, "PYG", "PY"),
    ("Peru", "Lima", 51, "PEN", "PE"),
    ("Poland", "Warsaw", 48, "PLN", "PL"),
    ("Portugal", "Lisbon", 351, "EUR", "PT"),
    ("South Korea", "Seoul", 82, "KRW", "KR"),
    ("Spain", "Madrid", 34, "EUR", "ES"),
    ("Sweden", "Stockholm", 46, "SEK", "SE"),
    ("Thailand", "Bangkok", 66, "THB", "TH"),
    ("Uruguay", "Montevideo", 598, "UYU", "UY"),
    ("Vietnam", "Hanoi", 84, "VND", "VN"),
)


def look_up_country(value: str, want: str, by: str = "name") -> str | int | dict[str, str]:
    """Find the row whose column ``by`` holds the value and return its column ``want``."""
    column = COLUMNS.index(by)
    wanted = plain(value)
    for row in COUNTRIES:
        if plain(str(row[column])) == wanted:
            return row[COLUMNS.index(want)]
    known = ", ".join(str(row[column]) for row in COUNTRIES)
    return {"error": f"value: no country has the {by} {value!r}; the table knows {known}"}


def plain(text: str) -> str:
    """Return the text without accents, outer space and differences of case."""
    parts = unicodedata.normalize("NFKD", " ".join(text.split()))
    return "".join(sign for sign in parts if not unicodedata.combining(sign)).casefold()
