"""Find and replace values in texts."""

from __future__ import annotations

import re
from decimal import Decimal

from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.dates import dates_in, whole_date
from toolhop_tools.english import COUNTS, ORDINALS
from toolhop_tools.words import ARTICLES, as_text


def without(text: str, value: str | int | float, instead: str) -> str | None:
    """Replace every mention of a value in the text; None if it has none.

    Articles before the value and quotes around it are replaced too.
    """
    pieces, end = list[str](), 0
    for start, stop in spans(text, value):
        pieces, end = [*pieces, text[end:start], instead], stop
    return "".join([*pieces, text[end:]]) if pieces else None


_BEFORE = r"(?:\b(?:the|a|an)\s+)?[\"'“‘]?"
_AFTER = r"[\"”]?(?:['’](?!s\b|\w))?"


def _in_words(number: Decimal) -> list[str]:
    """Return a small number as words: ``two``, ``second``."""
    return [word for word, digits in {**COUNTS, **ORDINALS}.items() if Decimal(digits) == number]


def spans(text: str, value: str | int | float) -> list[tuple[int, int]]:
    """Return where a text mentions a value, in any notation, with articles and quotes."""
    day = whole_date(as_text(value)) if isinstance(value, str) else None
    written = [found for found, one in dates_in(text) if day is not None and one == day]
    patterns = [re.escape(found) for found in written]
    number = plain_number(plain_text(as_text(value)))
    if number is not None:
        found = (
            part[0]
            for part in re.finditer(r"(?<![\w.,])-?\d[\d,]*(?:\.\d+)?(?![\w,.]*\d)", text)
            if plain_number(part[0].rstrip(",")) in {number, abs(number)}
        )
        patterns += [re.escape(part.rstrip(",")) + r"(?:st|nd|rd|th)?" for part in found]
        patterns += [f"{word}(?! names?\\b)" for word in _in_words(number)]
    elif parts := re.findall(r"\w+", as_text(value).replace("_", " ")):
        if len(parts) > 1 and parts[0].casefold() in ARTICLES:
            parts = parts[1:]
        dot = r"\.?" if as_text(value).endswith(".") else ""
        patterns.append(r"[\W_]+".join(map(re.escape, parts)) + dot)
    spans: list[tuple[int, int]] = []
    for pattern in dict.fromkeys(patterns):
        whole = rf"{_BEFORE}(?<!\w)(?<!\w[-'’]){pattern}(?!\w|[-'’](?!s\b)\w){_AFTER}"
        spans += [found.span() for found in re.finditer(whole, text, re.IGNORECASE)]
    return sorted(set(spans))
