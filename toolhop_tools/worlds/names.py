"""Invented names that read as names, made from syllables."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """Syllables of one kind of name."""

    starts: tuple[str, ...]
    middles: tuple[str, ...]
    ends: tuple[str, ...]


STYLES: dict[str, Style] = {
    "place": Style(
        ("Vel", "Tar", "Osk", "Bren", "Mir", "Dal", "Hul", "Kes", "Lor", "Fen", "Quil", "Sav"),
        ("a", "e", "o", "ani", "eri", "ovi", "ula", "ema"),
        ("mora", "vik", "dun", "sel", "rath", "lo", "nish", "bry", "venn", "gard", "tova", "lin"),
    ),
    "person": Style(
        ("An", "Bel", "Cor", "Dri", "Eli", "Fas", "Gre", "Hal", "Iv", "Jor", "Kal", "Lis"),
        ("a", "e", "i", "o", "ane", "eli"),
        ("na", "ra", "vin", "len", "mis", "dor", "tha", "ric", "sa", "wyn"),
    ),
    "family": Style(
        ("Ald", "Bor", "Crev", "Dun", "Esk", "Farr", "Grim", "Hov", "Ister", "Jask", "Kor", "Lund"),
        ("a", "e", "i", "o", "ane", "eri"),
        ("bek", "dall", "fen", "gart", "holt", "kin", "mar", "ness", "rov", "stad", "ver", "zell"),
    ),
    "ship": Style(
        ("Or", "Ast", "Cal", "Dov", "Ess", "Gal", "Hes", "Ill", "Jun", "Kir", "Mel", "Nor"),
        ("a", "e", "i", "o", "ali", "ero"),
        ("vale", "phine", "dora", "mede", "stra", "lanth", "nix", "rion", "thea", "vane"),
    ),
}


def coined(form: str, drawn: random.Random, taken: set[str]) -> str:
    """A name of a style, or of a pattern with styles in braces; added to `taken`.

    No root is used twice, so that no name belongs to two types.
    """
    pattern = form if "{" in form else f"{{{form}}}"
    while True:
        name, roots = pattern, list[str]()
        for style, syllables in STYLES.items():
            while f"{{{style}}}" in name:
                roots.append(_root(syllables, drawn))
                name = name.replace(f"{{{style}}}", roots[-1], 1)
        if not taken.intersection([name, *roots]):
            taken.update([name, *roots])
            return name


def _root(style: Style, drawn: random.Random) -> str:
    parts = drawn.choice(style.starts), drawn.choice(style.middles), drawn.choice(style.ends)
    return "".join(parts)
