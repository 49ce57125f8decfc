"""Numbers mentioned in a text: in digits, in words, with a scale, as a percentage, or rounded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from toolhop_env.benchmarks.known import plain_words
from toolhop_tools.answers import plain_number
from toolhop_tools.english import BASES, DIGITS, SCALES, TENS

_SHORT = 20
"""Maximum length, in words, of a text in which any number may belong to any unit."""
_WRITTEN: Mapping[str, Decimal] = {
    **{word: Decimal(digits) for word, digits in {**DIGITS, **BASES}.items()},
    "double": Decimal(2),
    "half": Decimal("0.5"),
    "dozen": Decimal(12),
    "pair": Decimal(2),
    "decimal": Decimal(10),
    "squared": Decimal(2),
    "cubed": Decimal(3),
}


def numbers(text: str) -> Iterator[Decimal]:
    """Yield the numbers of a text, in all forms: digits, words, scales, percentages."""
    found = plain_words(text)
    for at, word in enumerate(found):
        number = _WRITTEN.get(word, plain_number(word))
        if number is None:
            continue
        yield abs(number)
        after = found[at + 1] if at + 1 < len(found) else ""
        if after in SCALES:
            yield abs(number) * 10 ** SCALES[after]
        if word in TENS and 0 < (unit := _WRITTEN.get(after, Decimal(0))) < 10:
            yield number + unit
    scales = {
        SCALES[one]
        for one in (word.removesuffix("s") for word in found)
        if len(one) > 1 and one in SCALES
    }
    if scales and len(found) <= _SHORT:  # such as {"number": 1.5, "unit": "thousands"}
        said = [number for word in found if (number := plain_number(word)) is not None]
        yield from (abs(number) * 10**scale for number in said for scale in scales)
    for part in re.findall(r"(\d+(?:\.\d+)?)\s*(?:%|per ?cent)", text):
        yield Decimal(part) / 100
    for digits, scale in re.findall(r"(\d+(?:\.\d+)?)\s?([kKmM])\b", text):
        yield Decimal(digits) * 10 ** SCALES[scale.lower()]


_LEAST_FIGURES = 3
"""Minimum number of digits of a rounded number; a shorter one may stand for too many numbers."""


def is_of(number: Decimal, known: Iterable[Decimal]) -> bool:
    """Whether a number was mentioned, or is a mentioned number rounded; signs are ignored."""
    wanted, parts = abs(number), number.normalize().as_tuple()
    places = -parts.exponent if isinstance(parts.exponent, int) else 0
    rounds = places > 0 and len(parts.digits) >= _LEAST_FIGURES
    return any(one == wanted or (rounds and round(one, places) == wanted) for one in known)
