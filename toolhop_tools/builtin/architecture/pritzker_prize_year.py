"""Years of the Pritzker Architecture Prize."""

import unicodedata

FIRST_YEAR = 1979
# One entry a year from 1979 to 2015; several winners of a year share an entry.
WINNERS = """
Philip Johnson; Luis Barragán; James Stirling; Kevin Roche; I. M. Pei; Richard Meier;
Hans Hollein; Gottfried Böhm; Kenzo Tange; Gordon Bunshaft & Oscar Niemeyer; Frank Gehry;
Aldo Rossi; Robert Venturi; Álvaro Siza; Fumihiko Maki; Christian de Portzamparc; Tadao Ando;
Rafael Moneo; Sverre Fehn; Renzo Piano; Norman Foster; Rem Koolhaas;
Jacques Herzog & Pierre de Meuron; Glenn Murcutt; Jørn Utzon; Zaha Hadid; Thom Mayne;
Paulo Mendes da Rocha; Richard Rogers; Jean Nouvel; Peter Zumthor;
Kazuyo Sejima & Ryue Nishizawa; Eduardo Souto de Moura; Wang Shu; Toyo Ito; Shigeru Ban; Frei Otto
"""


def pritzker_prize_year(architect: str) -> int | dict[str, str]:
    """Return the year in which an architect received the Pritzker Prize, from 1979 to 2015."""
    wanted = plain(architect)
    for year, entry in enumerate(WINNERS.split(";"), FIRST_YEAR):
        if wanted in [plain(name) for name in entry.split("&")]:
            return year
    names = ", ".join(" ".join(entry.split()) for entry in WINNERS.split(";"))
    return {"error": f"architect: {architect!r} is not among the winners to 2015: {names}"}


def plain(name: str) -> str:
    """Letters of a name without accents, case and spaces."""
    text = unicodedata.normalize("NFKD", name.replace("ø", "o").casefold())
    return "".join(char for char in text if char.isalpha())
