"""Invented names that read as names, made from the syllables in `names.json`.

A root is a start, a middle and an end of one style. Roots that are English words, or names of real
people or places, stand there as ``real`` and are never used; `studies/real_names.py` writes them.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path

SYLLABLES = Path(__file__).with_name("names.json")
TRIES = 1000
_STYLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Style:
    """One kind of name."""

    parts: tuple[tuple[str, ...], ...]
    """Starts, middles and ends."""
    real: frozenset[str]
    """Roots that are never used."""

    def roots(self) -> set[str]:
        """Every root, real ones among them."""
        return {"".join(parts) for parts in product(*self.parts)}

    def root(self, drawn: random.Random) -> str:
        """A root that is not real."""
        while True:
            root = "".join(drawn.choice(syllables) for syllables in self.parts)
            if root not in self.real:
                return root


def _read() -> dict[str, Style]:
    styles = json.loads(SYLLABLES.read_text("utf-8"))
    return {
        name: Style(
            tuple(tuple(style[part].split()) for part in ("starts", "middles", "ends")),
            frozenset(style["real"].split()),
        )
        for name, style in styles.items()
    }


STYLES = _read()
"""By the name that domains use."""


def styles(form: str) -> list[str]:
    """The styles that a domain's form of names asks for, each as often as it stands there."""
    return _STYLE.findall(_braced(form))


def coined(form: str, drawn: random.Random, taken: set[str]) -> str:
    """A name of a style, or of a pattern with styles in braces; added to `taken`.

    Patterns that are separated by `` | `` are equally likely. No root is used twice, so that no
    name belongs to two types.

    Raises:
        ValueError: nearly all names are taken.
    """
    for _ in range(TRIES):
        name = drawn.choice(_braced(form).split(" | "))
        roots = list[str]()
        for style in styles(name):
            roots.append(STYLES[style].root(drawn))
            name = name.replace(f"{{{style}}}", roots[-1], 1)
        if not taken.intersection([name, *roots]) and len(set(roots)) == len(roots):
            taken.update([name, *roots])
            return name
    raise ValueError(f"no free name of the form {form!r}; make the world smaller")


def _braced(form: str) -> str:
    return form if "{" in form else f"{{{form}}}"
