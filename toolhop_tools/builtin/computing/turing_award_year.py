"""Laureates of the ACM A.M. Turing Award, 1966 to 2000."""

LAUREATES = {
    1966: ("Alan Perlis",),
    1967: ("Maurice Wilkes",),
    1968: ("Richard Hamming",),
    1969: ("Marvin Minsky",),
    1970: ("James Wilkinson",),
    1971: ("John McCarthy",),
    1972: ("Edsger Dijkstra",),
    1973: ("Charles Bachman",),
    1974: ("Donald Knuth",),
    1975: ("Allen Newell", "Herbert Simon"),
    1976: ("Michael Rabin", "Dana Scott"),
    1977: ("John Backus",),
    1978: ("Robert Floyd",),
    1979: ("Kenneth Iverson",),
    1980: ("Tony Hoare",),
    1981: ("Edgar Codd",),
    1982: ("Stephen Cook",),
    1983: ("Ken Thompson", "Dennis Ritchie"),
    1984: ("Niklaus Wirth",),
    1985: ("Richard Karp",),
    1986: ("John Hopcroft", "Robert Tarjan"),
    1987: ("John Cocke",),
    1988: ("Ivan Sutherland",),
    1989: ("William Kahan",),
    1990: ("Fernando Corbato",),
    1991: ("Robin Milner",),
    1992: ("Butler Lampson",),
    1993: ("Juris Hartmanis", "Richard Stearns"),
    1994: ("Edward Feigenbaum", "Raj Reddy"),
    1995: ("Manuel Blum",),
    1996: ("Amir Pnueli",),
    1997: ("Douglas Engelbart",),
    1998: ("Jim Gray",),
    1999: ("Fred Brooks",),
    2000: ("Andrew Yao",),
}


def turing_award_year(person: str) -> int | dict[str, str]:
    """Return the year for which the person received the award, alone or with others."""
    wanted = " ".join(person.split()).casefold()
    for year, people in LAUREATES.items():
        if wanted in [name.casefold() for name in people]:
            return year
    known = ", ".join(name for people in LAUREATES.values() for name in people)
    return {"error": f"person: {person!r} is not a laureate of 1966 to 2000; those are {known}"}
