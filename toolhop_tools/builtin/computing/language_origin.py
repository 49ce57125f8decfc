"""Programming languages, their first appearance and their main designers."""

LANGUAGES = {
    "ada": (1980, "Jean Ichbiah"),
    "apl": (1966, "Kenneth Iverson"),
    "awk": (1977, "Alfred Aho, Peter Weinberger and Brian Kernighan"),
    "basic": (1964, "John Kemeny and Thomas Kurtz"),
    "bcpl": (1967, "Martin Richards"),
    "c": (1972, "Dennis Ritchie"),
    "c#": (2000, "Anders Hejlsberg"),
    "c++": (1985, "Bjarne Stroustrup"),
    "clojure": (2007, "Rich Hickey"),
    "fortran": (1957, "John Backus"),
    "groovy": (2003, "James Strachan"),
    "java": (1995, "James Gosling"),
    "javascript": (1995, "Brendan Eich"),
    "objective-c": (1984, "Brad Cox"),
    "pascal": (1970, "Niklaus Wirth"),
    "perl": (1987, "Larry Wall"),
    "php": (1995, "Rasmus Lerdorf"),
    "python": (1991, "Guido van Rossum"),
    "r": (1993, "Ross Ihaka and Robert Gentleman"),
    "ruby": (1995, "Yukihiro Matsumoto"),
    "scala": (2004, "Martin Odersky"),
    "swift": (2014, "Chris Lattner"),
    "tcl": (1988, "John Ousterhout"),
    "typescript": (2012, "Anders Hejlsberg"),
}


def language_origin(language: str, field: str = "creator") -> int | str | dict[str, str]:
    """Return the main designer of the language, or the year of its first public appearance."""
    key = language.strip().casefold()
    if key not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        return {"error": f"language: {language!r} is not covered; covered languages: {known}"}
    year, creator = LANGUAGES[key]
    return creator if field == "creator" else year
