"""Texts as words, to say whether one stands in another: case, accents and marks aside."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text

LONGEST_CHARS = 4000
"""Length of a text that is looked at; longer ones are cut."""
_WORD = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?|[^\W_]+(?:['’][^\W_]+)*")
_PLAIN = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
"""Letters that Unicode does not take apart, as they are written where there is no such key."""


def bare(text: str) -> str:
    """The text case folded and without accents."""
    apart = unicodedata.normalize("NFKD", text.casefold()).translate(_PLAIN)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Words and numbers of a text, in order; a number as it is written, without commas."""
    found = _WORD.findall(bare(text[:LONGEST_CHARS]))
    return tuple(_word(word) for word in found)


def _word(word: str) -> str:
    if word[-1].isdigit() and (word[0].isdigit() or word[0] in "-+"):
        return word.replace(",", "").lstrip("+")
    return word.removesuffix("'s").removesuffix("’s")


ARTICLES = frozenset(words("the a an"))


def parts_of(name: str) -> tuple[str, ...]:
    """The words of a parameter's or a field's name, or of a choice: ``start_date``."""
    return words(name.replace("_", " "))


def number_of(text: str) -> Decimal | None:
    """The plain number that an answer is; None for any other."""
    return plain_number(plain_text(text))


def name_words(text: str) -> tuple[str, ...]:
    """The same without an article in front."""
    found = words(text)
    return found[1:] if len(found) > 1 and found[0] in ARTICLES else found


def runs(part: Sequence[str], whole: Sequence[str]) -> list[int]:
    """Where `part` stands in `whole`, word by word."""
    if not part:
        return []
    last = len(whole) - len(part)
    return [at for at in range(last + 1) if tuple(whole[at : at + len(part)]) == tuple(part)]


def scalars(value: JSON) -> list[tuple[tuple[str | int, ...], JSON]]:
    """The scalars in a value, each with the keys and indexes that lead to it."""
    found: list[tuple[tuple[str | int, ...], JSON]] = []
    left: list[tuple[tuple[str | int, ...], JSON]] = [((), value)]
    while left:
        path, part = left.pop()
        if isinstance(part, dict):
            left.extend(((*path, key), inner) for key, inner in reversed(part.items()))
        elif isinstance(part, list):
            left.extend(((*path, at), part[at]) for at in reversed(range(len(part))))
        else:
            found.append((path, part))
    return found


def as_text(value: JSON) -> str:
    """A scalar as text; huge numbers as a word of their own."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int):
        # Python converts no more than 4,300 digits, and in more than linear time.
        return str(value) if abs(value).bit_length() < 10_000 else "a huge number"
    return repr(value)


def letters(text: str) -> str:
    """The letters and digits of a text, case and accents aside."""
    return "".join(filter(str.isalnum, bare(text)))


def as_number(text: str) -> int | float | None:
    """The plain number that a text is, as JSON has it; None for another text or a huge number."""
    number = number_of(text)
    if number is None or abs(number) >= 10**15:
        return None
    return int(number) if number == int(number) else float(number)
