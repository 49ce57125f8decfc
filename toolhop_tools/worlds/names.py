"""Invented names that sound real, made from the syllables in `names.json`.

A root is a start, a middle and an end of one style. Roots that are English words, or names of real
people or places, are listed as ``real`` and never used; `studies/real_names.py` writes that list.
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
    """A kind of name."""

    parts: tuple[tuple[str, ...], ...]
    """Starts, middles and ends."""
    real: frozenset[str]
    """Roots to exclude."""

    def roots(self) -> set[str]:
        """All roots, including real ones."""
        return {"".join(parts) for parts in product(*self.parts)}

    def root(self, drawn: random.Random) -> str:
        """Draw a root that is not real."""
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
"""Styles by the name that domains use."""


def styles(form: str) -> list[str]:
    """Return the styles in a domain's form of names, each as often as it occurs."""
    return _STYLE.findall(_braced(form))


def coined(form: str, drawn: random.Random, taken: set[str]) -> str:
    """Make a name from a style, or from a pattern with styles in braces, and add it to `taken`.

    Patterns separated by `` | `` are equally likely. No root is used twice, so
    that no name belongs to two types.

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
