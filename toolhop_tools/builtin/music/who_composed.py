"""Composers of operas, ballets and orchestral works."""

import unicodedata

WORKS = {
    "Aida": "Giuseppe Verdi",
    "Nabucco": "Giuseppe Verdi",
    "Rigoletto": "Giuseppe Verdi",
    "La traviata": "Giuseppe Verdi",
    "La boheme": "Giacomo Puccini",
    "Gianni Schicchi": "Giacomo Puccini",
    "Madama Butterfly": "Giacomo Puccini",
    "Tosca": "Giacomo Puccini",
    "Turandot": "Giacomo Puccini",
    "Carmen": "Georges Bizet",
    "The Pearl Fishers": "Georges Bizet",
    "Don Giovanni": "Wolfgang Amadeus Mozart",
    "The Magic Flute": "Wolfgang Amadeus Mozart",
    "The Marriage of Figaro": "Wolfgang Amadeus Mozart",
    "Fidelio": "Ludwig van Beethoven",
    "The Barber of Seville": "Gioachino Rossini",
    "William Tell": "Gioachino Rossini",
    "Norma": "Vincenzo Bellini",
    "La sonnambula": "Vincenzo Bellini",
    "L'elisir d'amore": "Gaetano Donizetti",
    "Lucia di Lammermoor": "Gaetano Donizetti",
    "Lohengrin": "Richard Wagner",
    "Parsifal": "Richard Wagner",
    "Rusalka": "Antonin Dvorak",
    "The Bartered Bride": "Bedrich Smetana",
    "Ma vlast": "Bedrich Smetana",
    "Swan Lake": "Pyotr Ilyich Tchaikovsky",
    "The Nutcracker": "Pyotr Ilyich Tchaikovsky",
    "Pictures at an Exhibition": "Modest Mussorgsky",
    "Peer Gynt": "Edvard Grieg",
    "Finlandia": "Jean Sibelius",
    "Bolero": "Maurice Ravel",
    "La mer": "Claude Debussy",
    "The Planets": "Gustav Holst",
    "Rhapsody in Blue": "George Gershwin",
    "Porgy and Bess": "George Gershwin",
}


def who_composed(work: str) -> str | dict[str, str]:
    """Return the composer of the work, written without accents."""
    parts = unicodedata.normalize("NFKD", " ".join(work.split()).replace("\u2019", "'"))
    wanted = "".join(sign for sign in parts if not unicodedata.combining(sign)).casefold()
    for title, composer in WORKS.items():
        if title.casefold() == wanted:
            return composer
    return {"error": f"work: nothing is known of {work!r}; known works are {', '.join(WORKS)}"}
