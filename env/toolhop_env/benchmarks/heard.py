"""What an agent was told before a call, and whether a value occurs in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from string import punctuation

from toolhop_env.benchmarks.derived import Told, may_follow
from toolhop_env.benchmarks.known import Known, Words, plain_words
from toolhop_env.benchmarks.said_numbers import is_of, numbers
from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number, plain_text
from toolhop_tools.dates import whole_date
from toolhop_tools.words import as_text, bare, runs, words

MOST_WORDS = 2000
"""Maximum number of words searched for values with other spacing, in a text or in a call's own
values."""
LEAST_JOINED, MOST_JOINED = 6, 4
BETWEEN = 2
"""Other words allowed between the words of a value."""
CODE_LETTERS = 3
"""Maximum length of a well-known code, such as that of a currency, in letters."""
LEAST_SAID = 3
"""Words in a row that a value must share with a text to count as another form of it."""
STEM = 4
"""Letters that forms of one word share."""
SPELLING_LIKENESS = 0.9
"""Minimum similarity (difflib ratio) of a misspelt value: about one wrong letter in ten."""
_OF_CODES = frozenset("@_/\\")
_LISTED = re.compile(r"[,;|&+\n]|\s+(?:and|or)\s+|\s+-\s+")


def is_wording(text: str) -> bool:
    """Whether a value consists of words, rather than being a number, code or address."""
    return not any(letter.isdigit() or letter in _OF_CODES for letter in text)


def misspelt(text: str, known: Sequence[str]) -> str:
    """Return the bare wording that a text misspells, or writes in other case; empty if none."""
    forms = list(map(bare, known)) if is_wording(text) else []
    return next(iter(get_close_matches(bare(text), forms, 1, SPELLING_LIKENESS)), "")


@dataclass(frozen=True)
class Source:
    """Something said to the agent, known from a given turn on."""

    text: str
    turn: int = 0
    own: tuple[Words, ...] = ()
    """Values of the call that this source answers; their return, whole or in part, does not show
    where they came from."""
    value: JSON = None
    """The result as returned; None if the source is a text."""

    def echoes(self, value: Words) -> bool:
        """Whether the call itself passed this value, or one that contains it."""
        return any(runs(value, one[:MOST_WORDS]) for one in self.own)

    @cached_property
    def known(self) -> Known:
        """The text, indexed for lookup."""
        return Known(self.text)

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        """The numbers of the text, in any notation."""
        return frozenset(numbers(self.text))

    @cached_property
    def told(self) -> Told:
        """The facts of the source, from which values may be derived."""
        return Told(self.text, self.value)

    def says(self, text: str) -> bool:
        """Whether the source mentions a value: in these words close together, in another
        notation, or as part of a name.
        """
        if not self.known.holds(text):
            return False
        in_order = self.known.in_order
        own = [word for word in plain_words(text) if word in in_order]
        if len(own) < 2 or whole_date(text) in self.told.dates:
            return True
        wide = len(own) + BETWEEN
        starts = (at for at, word in enumerate(in_order) if word in own)
        return any({*own} <= {*in_order[at : at + wide]} for at in starts)


class Heard:
    """Everything said to the agent before a call."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    def holds(self, value: JSON) -> bool:
        """Whether a value was mentioned: in these words, in another notation, or in parts."""
        text = as_text(value)
        if any(one.says(text) for one in self._sources):
            return True
        number = plain_number(plain_text(text))
        if number is None and isinstance(value, float):
            number = Decimal(repr(value))
        if number is not None:
            return any(is_of(number, one.numbers) for one in self._sources)
        parts = [part for part in _LISTED.split(text) if part.strip()]
        if len(parts) > 1 and all(self.holds(part.strip()) for part in parts):
            return True
        return self._joined(text)

    def _says_part_of(self, text: str) -> bool:
        """Whether more than half of a value's words were mentioned in a row."""
        own = plain_words(text)
        least = max(LEAST_SAID, len(own) // 2 + 1)
        parts = {own[at : at + least] for at in range(len(own) - least + 1)}
        return any(runs(part, one.known.in_order) for part in parts for one in self._sources)

    def _joined(self, text: str) -> bool:
        """Whether a value consists of consecutive words, spaced differently."""
        own = "".join(plain_words(text))
        return len(own) >= LEAST_JOINED and any(
            one.known.holds(own) or own in _joints(one.known.in_order[:MOST_WORDS])
            for one in self._sources
        )

    def gives(self, value: JSON) -> bool:
        """Whether a value can be derived from what was said."""
        return may_follow(plain_text(as_text(value)), [one.told for one in self._sources])

    def otherwise(self, text: str) -> str:
        """Return words that a text of several words spells or writes otherwise; or nothing.

        Nothing either if the text was said exactly so.
        """
        written, size, near = text.strip(punctuation), len(text.split()), dict[str, str]()
        said = [one.text.split() for one in self._sources] if size > 1 else []
        rows = (words[at : at + size] for words in said for at in range(len(words) - size + 1))
        for row in islice(rows, MOST_WORDS):
            run = " ".join(row).strip(punctuation)
            if run == written:
                return ""
            near[bare(run)] = run
        return near.get(misspelt(written, list(near)), "")

    def may_be_known(self, value: JSON, about: Known) -> bool:
        """Whether a value may come from what was said plus common knowledge: another form of a
        word, most of its words in a row, or a short code.
        """
        if not isinstance(value, str):
            return False
        code = len(value) <= CODE_LETTERS and value.isalpha()
        part = is_wording(value) and self._says_part_of(value)
        return code or part or self._nearly(value, about)

    def _nearly(self, text: str, about: Known) -> bool:
        """Whether each significant word is another form of one that was said.

        Next to a word that was said, the words and initials of the value's parameter are allowed
        too.
        """
        own = words(text)
        every = [word for one in self._sources for word in one.known.in_order]
        said, initials = {word[:STEM] for word in every}, {word[0] for word in every}
        forms = [
            (len(word) >= STEM and not any(map(str.isdigit, word)) and word[:STEM] in said)
            or any(one.known.holds(word) for one in self._sources)
            for word in own
        ]
        return any(forms) and all(
            form or (about.holds(word) if len(word) > 1 else word in initials)
            for form, word in zip(forms, own, strict=True)
        )


def _joints(found: Sequence[str]) -> Iterator[str]:
    """Yield runs of two to four consecutive words, joined."""
    for size in range(2, MOST_JOINED + 1):
        for at in range(len(found) - size + 1):
            yield "".join(found[at : at + size])
