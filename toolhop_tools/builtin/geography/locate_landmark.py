"""Natural and built landmarks and the countries in which they stand."""

import unicodedata

LANDMARKS = {
    "aconcagua": "Argentina",
    "alhambra": "Spain",
    "angel falls": "Venezuela",
    "angkor wat": "Cambodia",
    "bagan": "Myanmar",
    "ben nevis": "United Kingdom",
    "borobudur": "Indonesia",
    "cerro rico": "Bolivia",
    "chichen itza": "Mexico",
    "chimborazo": "Ecuador",
    "cotopaxi": "Ecuador",
    "eiger": "Switzerland",
    "elbrus": "Russia",
    "etna": "Italy",
    "fuji": "Japan",
    "great sphinx of giza": "Egypt",
    "great zimbabwe": "Zimbabwe",
    "hagia sophia": "Turkey",
    "kaieteur falls": "Guyana",
    "kilimanjaro": "Tanzania",
    "machu picchu": "Peru",
    "neuschwanstein castle": "Germany",
    "ngorongoro crater": "Tanzania",
    "petra": "Jordan",
    "popocatepetl": "Mexico",
    "salar de uyuni": "Bolivia",
    "sigiriya": "Sri Lanka",
    "taj mahal": "India",
    "teide": "Spain",
    "uluru": "Australia",
}
# Words that people put before the proper name of a place.
FOREWORDS = ("the ", "mount ", "volcano ")


def locate_landmark(landmark: str) -> str | dict[str, str]:
    """Return the country of the landmark; accents, case and words like "Mount" do not matter."""
    parts = unicodedata.normalize("NFKD", " ".join(landmark.split()))
    key = "".join(sign for sign in parts if not unicodedata.combining(sign)).casefold()
    for word in FOREWORDS:
        key = key.removeprefix(word)
    if key not in LANDMARKS:
        known = ", ".join(LANDMARKS)
        return {"error": f"landmark: {landmark!r} is not recorded; the recorded ones are {known}"}
    return LANDMARKS[key]
