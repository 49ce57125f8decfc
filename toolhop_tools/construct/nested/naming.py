"""Names and words made from each other. Pure."""

from __future__ import annotations

import re


def identifier(text: str) -> str:
    """A text as a name in small letters; empty where it holds no ASCII identifier."""
    name = "_".join(re.findall(r"\w+", text.replace("_", " ").casefold()))
    return name if name.isascii() and name.isidentifier() else ""


def in_words(name: str) -> str:
    """An identifier as it is read."""
    return name.replace("_", " ")
