"""Constellations: the official short forms and the brightest stars."""

CONSTELLATIONS = {
    "aquarius": ("Aqr", "Sadalsuud"),
    "aquila": ("Aql", "Altair"),
    "aries": ("Ari", "Hamal"),
    "auriga": ("Aur", "Capella"),
    "bootes": ("Boo", "Arcturus"),
    "canes venatici": ("CVn", "Cor Caroli"),
    "canis major": ("CMa", "Sirius"),
    "canis minor": ("CMi", "Procyon"),
    "capricornus": ("Cap", "Deneb Algedi"),
    "carina": ("Car", "Canopus"),
    "cepheus": ("Cep", "Alderamin"),
    "cetus": ("Cet", "Diphda"),
    "columba": ("Col", "Phact"),
    "corona borealis": ("CrB", "Alphecca"),
    "corvus": ("Crv", "Gienah"),
    "crux": ("Cru", "Acrux"),
    "cygnus": ("Cyg", "Deneb"),
    "draco": ("Dra", "Eltanin"),
    "eridanus": ("Eri", "Achernar"),
    "gemini": ("Gem", "Pollux"),
    "grus": ("Gru", "Alnair"),
    "hydra": ("Hya", "Alphard"),
    "leo": ("Leo", "Regulus"),
    "lepus": ("Lep", "Arneb"),
    "lyra": ("Lyr", "Vega"),
    "ophiuchus": ("Oph", "Rasalhague"),
    "orion": ("Ori", "Rigel"),
    "pavo": ("Pav", "Peacock"),
    "perseus": ("Per", "Mirfak"),
    "phoenix": ("Phe", "Ankaa"),
    "piscis austrinus": ("PsA", "Fomalhaut"),
    "sagittarius": ("Sgr", "Kaus Australis"),
    "scorpius": ("Sco", "Antares"),
    "taurus": ("Tau", "Aldebaran"),
    "ursa major": ("UMa", "Alioth"),
    "ursa minor": ("UMi", "Polaris"),
    "virgo": ("Vir", "Spica"),
}


def constellation_profile(constellation: str, field: str) -> str | dict[str, str]:
    """Return the constellation's three-letter short form or the name of its brightest star."""
    key = " ".join(constellation.split()).casefold()
    if key not in CONSTELLATIONS:
        known = ", ".join(CONSTELLATIONS)
        return {"error": f"constellation: {constellation!r} has no entry; entries are {known}"}
    abbreviation, star = CONSTELLATIONS[key]
    return abbreviation if field == "abbreviation" else star
