"""Days on which composers were born and died, in the Gregorian calendar."""

import unicodedata

DATES = {
    "antonin dvorak": ("1841-09-08", "1904-05-01"),
    "bedrich smetana": ("1824-03-02", "1884-05-12"),
    "bela bartok": ("1881-03-25", "1945-09-26"),
    "camille saint-saens": ("1835-10-09", "1921-12-16"),
    "claude debussy": ("1862-08-22", "1918-03-25"),
    "clara schumann": ("1819-09-13", "1896-05-20"),
    "edvard grieg": ("1843-06-15", "1907-09-04"),
    "edward elgar": ("1857-06-02", "1934-02-23"),
    "felix mendelssohn": ("1809-02-03", "1847-11-04"),
    "franz liszt": ("1811-10-22", "1886-07-31"),
    "franz schubert": ("1797-01-31", "1828-11-19"),
    "gaetano donizetti": ("1797-11-29", "1848-04-08"),
    "george gershwin": ("1898-09-26", "1937-07-11"),
    "georges bizet": ("1838-10-25", "1875-06-03"),
    "giacomo puccini": ("1858-12-22", "1924-11-29"),
    "gioachino rossini": ("1792-02-29", "1868-11-13"),
    "gustav holst": ("1874-09-21", "1934-05-25"),
    "gustav mahler": ("1860-07-07", "1911-05-18"),
    "hector berlioz": ("1803-12-11", "1869-03-08"),
    "igor stravinsky": ("1882-06-17", "1971-04-06"),
    "jean sibelius": ("1865-12-08", "1957-09-20"),
    "johannes brahms": ("1833-05-07", "1897-04-03"),
    "joseph haydn": ("1732-03-31", "1809-05-31"),
    "maurice ravel": ("1875-03-07", "1937-12-28"),
    "modest mussorgsky": ("1839-03-21", "1881-03-28"),
    "pyotr ilyich tchaikovsky": ("1840-05-07", "1893-11-06"),
    "richard wagner": ("1813-05-22", "1883-02-13"),
    "robert schumann": ("1810-06-08", "1856-07-29"),
    "vincenzo bellini": ("1801-11-03", "1835-09-23"),
    "wolfgang amadeus mozart": ("1756-01-27", "1791-12-05"),
}


def composer_dates(composer: str, event: str = "birth") -> str | dict[str, str]:
    """Return the composer's date of birth or of death as YYYY-MM-DD."""
    parts = unicodedata.normalize("NFKD", " ".join(composer.split()))
    key = "".join(sign for sign in parts if not unicodedata.combining(sign)).casefold()
    if key not in DATES:
        known = ", ".join(DATES)
        return {"error": f"composer: no dates for {composer!r}; there are dates for {known}"}
    birth, death = DATES[key]
    return birth if event == "birth" else death
