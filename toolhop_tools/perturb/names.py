"""Scrambled or numbered tool names."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item, Tool, ToolSchema
from toolhop_tools.perturb.change import Words, drawn, with_tools
from toolhop_tools.perturb.descriptions import with_descriptions


def renamed(item: Item, words: Words, seed: int) -> Item:
    """Rename every tool, including mentions of it in descriptions.

    ``removed`` numbers the tools in the order shown.
    """
    new = _new_names([*item.tools], words, drawn(seed, item, "names"))
    known = "|".join(re.escape(name) for name in sorted(new, key=len, reverse=True))

    def text(given: str, place: str) -> str:
        del place
        return re.sub(rf"\b(?:{known})\b", lambda found: new[found[0]], given)

    def tool(given: Tool) -> Tool:
        old = given.schema
        parameters: Mapping[str, JSON] = with_descriptions(old.parameters, text)
        schema = ToolSchema(new[old.name], text(old.description, ""), parameters)
        return replace(given, schema=schema)

    return with_tools(item, tool)


def _new_names(order: Sequence[str], words: Words, rng: random.Random) -> dict[str, str]:
    if words is Words.REMOVED:
        return {name: f"tool_{place}" for place, name in enumerate(order, start=1)}
    renamed: dict[str, str] = {}
    for name in sorted(order):
        new = _letters(name, rng)
        while new in renamed.values() or new in order:
            # All short names of this length may be taken, so lengthen it.
            new = _letters(f"{new}x", rng)
        renamed[name] = new
    return renamed


def _letters(name: str, rng: random.Random) -> str:
    """Replace each letter by another one; other characters stay."""
    return "".join(rng.choice(string.ascii_lowercase) if c.isalpha() else c for c in name)
