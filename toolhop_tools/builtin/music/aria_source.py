"""Famous arias and choruses and the operas in which they are sung."""

import unicodedata

ARIAS = {
    "casta diva": "Norma",
    "celeste aida": "Aida",
    "che gelida manina": "La boheme",
    "der holle rache": "The Magic Flute",
    "dido's lament": "Dido and Aeneas",
    "dove sono": "The Marriage of Figaro",
    "e lucevan le stelle": "Tosca",
    "habanera": "Carmen",
    "la donna e mobile": "Rigoletto",
    "la ci darem la mano": "Don Giovanni",
    "largo al factotum": "The Barber of Seville",
    "nessun dorma": "Turandot",
    "o mio babbino caro": "Gianni Schicchi",
    "regnava nel silenzio": "Lucia di Lammermoor",
    "song to the moon": "Rusalka",
    "summertime": "Porgy and Bess",
    "toreador song": "Carmen",
    "un bel di vedremo": "Madama Butterfly",
    "una furtiva lagrima": "L'elisir d'amore",
    "va, pensiero": "Nabucco",
    "vesti la giubba": "Pagliacci",
    "vissi d'arte": "Tosca",
    "voi che sapete": "The Marriage of Figaro",
}


def aria_source(aria: str) -> str | dict[str, str]:
    """Return the opera of the aria; accents, case and the shape of apostrophes do not matter."""
    parts = unicodedata.normalize("NFKD", " ".join(aria.split()).replace("\u2019", "'"))
    key = "".join(sign for sign in parts if not unicodedata.combining(sign)).casefold()
    if key not in ARIAS:
        return {"error": f"aria: {aria!r} was not found; the collection has {', '.join(ARIAS)}"}
    return ARIAS[key]
