"""Texts that the values of calls may come from: rules shared by several scorers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from toolhop_tools.answers import plain_number
from toolhop_tools.dates import dates_in, whole_date
from toolhop_tools.english import DIGITS
from toolhop_tools.words import LONGEST_CHARS, words

Words = tuple[str, ...]


def plain_words(text: str) -> Words:
    """Split a text of any length into words; equal numbers become equal words."""
    parts = (text[at : at + LONGEST_CHARS] for at in range(0, len(text), LONGEST_CHARS))
    return tuple(_plain(word) for part in parts for word in words(part))


def _plain(word: str) -> str:
    number = plain_number(word)
    return word if number is None else f"{number.normalize():f}"


class Known:
    """A text that the values of calls may come from."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def in_order(self) -> Words:
        """The words of the text, in order."""
        return plain_words(self._text)

    @cached_property
    def _all(self) -> frozenset[str]:
        found = self.in_order
        # The parts of `user_id=7f3a` and `2024-01-05` are words too, and `S01` has a number.
        parts = re.findall(r"[^\W_]+", self._text.casefold())
        parts += re.findall(r"\d+(?:\.\d+)?", self._text)
        written = (DIGITS[word] for word in found if word in DIGITS)
        return frozenset((*found, *parts, *written))

    @cached_property
    def _numbers(self) -> frozenset[object]:
        return frozenset(_numbers(self._all))

    @cached_property
    def _dates(self) -> frozenset[object]:
        return frozenset(date for _, date in dates_in(self._text))

    def holds(self, value: str) -> bool:
        """Whether the text contains all words of a value, or the date or number it denotes."""
        if not value.isascii() and value.casefold() in self._text.casefold():
            return True  # scripts without spaces have no words to compare
        if (date := whole_date(value)) is not None and date in self._dates:
            return True
        if numbers := list(_numbers([value])):
            return numbers[0] in self._numbers
        parts = plain_words(value) or tuple(value.casefold())
        return all(word in self._all for word in parts)


def _numbers(found: Iterable[str]) -> Iterable[object]:
    """Return the absolute values of the texts that are plain numbers."""
    return (abs(number) for one in found if (number := plain_number(one)) is not None)
