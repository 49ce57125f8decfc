"""Years in which novels came out as books."""

import re

YEARS = {
    "Pride and Prejudice": 1813,
    "Frankenstein": 1818,
    "Jane Eyre": 1847,
    "Wuthering Heights": 1847,
    "Moby-Dick": 1851,
    "Treasure Island": 1883,
    "The Picture of Dorian Gray": 1891,
    "The Time Machine": 1895,
    "Dracula": 1897,
    "The War of the Worlds": 1898,
    "Lord Jim": 1900,
    "Buddenbrooks": 1901,
    "Ulysses": 1922,
    "Mrs Dalloway": 1925,
    "The Great Gatsby": 1925,
    "The Trial": 1925,
    "The Sound and the Fury": 1929,
    "Brave New World": 1932,
    "The Hobbit": 1937,
    "The Grapes of Wrath": 1939,
    "For Whom the Bell Tolls": 1940,
    "Animal Farm": 1945,
    "Nineteen Eighty-Four": 1949,
    "The Catcher in the Rye": 1951,
    "Fahrenheit 451": 1953,
    "Lord of the Flies": 1954,
    "Things Fall Apart": 1958,
    "To Kill a Mockingbird": 1960,
    "Dune": 1965,
    "Slaughterhouse-Five": 1969,
    "Neuromancer": 1984,
    "Beloved": 1987,
}


def novel_publication_years(titles: list[str]) -> list[int] | dict[str, str]:
    """Return the year of each novel's first edition as a book, in the order of the titles."""
    years = {key_of(title): year for title, year in YEARS.items()}
    missing = [title for title in titles if key_of(title) not in years]
    if missing:
        return {
            "error": f"titles: no year on file for {missing[0]!r}; covered are {', '.join(YEARS)}"
        }
    return [years[key_of(title)] for title in titles]


def key_of(title: str) -> str:
    """Letters and digits alone, so that hyphens and commas do not matter."""
    return re.sub(r"\W", "", title.casefold())
