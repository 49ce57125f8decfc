"""Winners of the Nobel Prize in Literature."""

# From 1919 on; no prize was given for the years that are left out.
LAUREATES = {
    1919: "Carl Spitteler",
    1920: "Knut Hamsun",
    1921: "Anatole France",
    1922: "Jacinto Benavente",
    1923: "William Butler Yeats",
    1924: "Władysław Reymont",
    1925: "George Bernard Shaw",
    1926: "Grazia Deledda",
    1927: "Henri Bergson",
    1928: "Sigrid Undset",
    1929: "Thomas Mann",
    1930: "Sinclair Lewis",
    1931: "Erik Axel Karlfeldt",
    1932: "John Galsworthy",
    1933: "Ivan Bunin",
    1934: "Luigi Pirandello",
    1936: "Eugene O'Neill",
    1937: "Roger Martin du Gard",
    1938: "Pearl S. Buck",
    1939: "Frans Eemil Sillanpää",
    1944: "Johannes V. Jensen",
    1945: "Gabriela Mistral",
    1946: "Hermann Hesse",
    1947: "André Gide",
    1948: "T. S. Eliot",
    1949: "William Faulkner",
    1950: "Bertrand Russell",
    1951: "Pär Lagerkvist",
    1952: "François Mauriac",
    1953: "Winston Churchill",
    1954: "Ernest Hemingway",
    1955: "Halldór Laxness",
    1956: "Juan Ramón Jiménez",
    1957: "Albert Camus",
    1958: "Boris Pasternak",
    1959: "Salvatore Quasimodo",
    1960: "Saint-John Perse",
}


def nobel_literature_laureate(year: int) -> str | dict[str, str]:
    """Return who was given the Nobel Prize in Literature of a year from 1919 to 1960."""
    laureate = LAUREATES.get(int(year))
    if laureate is None:
        before = max((known for known in LAUREATES if known < year), default=min(LAUREATES))
        return {
            "error": f"year: no prize was given for {int(year)}; the last one before it was that "
            f"of {before}, ask for this or another year"
        }
    return laureate
