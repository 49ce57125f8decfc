"""Split texts into words and find one in another, ignoring case, accents and marks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text

LONGEST_CHARS = 4000
"""Maximum length of text examined, in characters; longer texts are cut."""
_WORD = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?|[^\W_]+(?:['’][^\W_]+)*")
_PLAIN = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
"""Letters that Unicode does not decompose, with their ASCII transliterations."""


def bare(text: str) -> str:
    """Return the text case folded and without accents."""
    apart = unicodedata.normalize("NFKD", text.casefold()).translate(_PLAIN)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text, in order; numbers as written, without commas."""
    found = _WORD.findall(bare(text[:LONGEST_CHARS]))
    return tuple(_word(word) for word in found)


def _word(word: str) -> str:
    if word[-1].isdigit() and (word[0].isdigit() or word[0] in "-+"):
        return word.replace(",", "").lstrip("+")
    return word.removesuffix("'s").removesuffix("’s")


ARTICLES = frozenset(words("the a an"))


def parts_of(name: str) -> tuple[str, ...]:
    """Return the words of a name such as ``start_date``: a parameter, a field or a choice."""
    return words(name.replace("_", " "))


def number_of(text: str) -> Decimal | None:
    """Return the value of an answer that is a plain number; None for any other."""
    return plain_number(plain_text(text))


def name_words(text: str) -> tuple[str, ...]:
    """As `words`, without a leading article."""
    found = words(text)
    return found[1:] if len(found) > 1 and found[0] in ARTICLES else found


def runs(part: Sequence[str], whole: Sequence[str]) -> list[int]:
    """Return the positions at which `part` occurs in `whole`, word by word."""
    if not part:
        return []
    last = len(whole) - len(part)
    return [at for at in range(last + 1) if tuple(whole[at : at + len(part)]) == tuple(part)]


def scalars(value: JSON) -> list[tuple[tuple[str | int, ...], JSON]]:
    """Return the scalars in a value, each with its path of keys and indexes."""
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
    """Return a scalar as text; a huge number becomes a placeholder word."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int):
        # Python refuses more than 4,300 digits, and its conversion is slower than linear.
        return str(value) if abs(value).bit_length() < 10_000 else "a huge number"
    return repr(value)


def letters(text: str) -> str:
    """Return the letters and digits of a text, ignoring case and accents."""
    return "".join(filter(str.isalnum, bare(text)))


def as_number(text: str) -> int | float | None:
    """Parse a plain number as JSON does; None for other text or a huge number."""
    number = number_of(text)
    if number is None or abs(number) >= 10**15:
        return None
    return int(number) if number == int(number) else float(number)
