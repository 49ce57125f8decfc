"""Availability of values to a reader of the question, sub-question, schemas and earlier answers.

`ground` returns where a value of a call can be found, `says` whether the sub-question states a
choice. Allowed changes are case, accents, plural, date and number notation, a unit, a part of a
name, and the sign of a number. Nothing here knows the origin of a call. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum
from functools import cached_property, lru_cache

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import plain_number
from toolhop_tools.certify.judging import literal
from toolhop_tools.certify.mentions import Mentions
from toolhop_tools.dates import NOTATIONS, dates_in, in_notation, notations_named, whole_date
from toolhop_tools.english import DIGITS, counts_from_zero, listed, marks_named, places_named, stems
from toolhop_tools.leaves import Leaf
from toolhop_tools.words import ARTICLES, as_text, bare, name_words, parts_of, runs, scalars, words


@dataclass(frozen=True)
class Asked:
    """The question of a hop, as seen by somebody who follows the chain."""

    gold: str
    mentions: Mentions
    """Mentions in the sub-question."""
    earlier: tuple[str, ...]
    """Answers of the previous hops."""
    item_question: str = ""
    returned: Mapping[int, str] = field(default_factory=dict)
    """Answers of earlier hops (from 0) as tools spelled them, if different from the data."""

    @property
    def text(self) -> str:
        """The sub-question."""
        return self.mentions.text

    @cached_property
    def named(self) -> tuple[str, ...]:
        """Distinct mentions in the sub-question: answers, names, quoted texts."""
        found = self.mentions
        pieces = [piece for name in found.names for piece in listed(name)]
        values = [literal(answer) or answer for _, answer in found.answers]
        answers = [as_text(leaf) for value in values for _, leaf in scalars(value)]
        every = [*answers, *found.quoted, *(one for one in pieces if one.strip("[](){}"))]
        longest = [one for one in every if not any(_part(one, other) for other in every)]
        return tuple({name_words(one): one for one in longest[::-1] if words(one)}.values())


def _part(name: str, whole: str) -> bool:
    one, other = name_words(name), words(whole)
    return len(other) > len(words(name)) and bool(runs(one, other))


class Ground(IntEnum):
    """The source of a value, nearest first."""

    SAID = 0
    """The sub-question states the value."""
    SCHEMA = 1
    """The schema offers the value as a choice, as a default or in a description."""
    CHANGED = 2
    """The sub-question has part of the value, or has it capitalised or signed differently."""
    ELSEWHERE = 3
    """The item's question, or an earlier answer that is not mentioned, has the value."""
    NOWHERE = 4


def ground(asked: Asked, leaf: Leaf) -> Ground:
    """Return where the value of a leaf can be found."""
    value = leaf.value
    if value in leaf.choices or value == leaf.schema.get("default") or leaf.is_option:
        return Ground.SCHEMA
    if isinstance(value, str):
        return _ground_of_text(asked, leaf, value)
    number = plain_number(as_text(value)) or Decimal(str(value))
    if counts_from_zero(leaf.about) and (positions := places_named(asked.text)):
        return Ground.SAID if number + 1 in positions else Ground.NOWHERE
    dated = not {"year", "month", "day"}.isdisjoint(parts_of(leaf.name))
    known = _numbers(asked.text, dated=dated)
    if abs(number) in known or str(abs(number)) in asked.mentions.numbers:
        signed = takes_both_signs(leaf) or (number < 0) == bool(_MINUS.search(asked.text))
        return Ground.SAID if signed else Ground.CHANGED
    if abs(number) in map(plain_number, words(leaf.about)):
        return Ground.SCHEMA
    near = any(abs(number) in _numbers(text, dated=True) for text in _elsewhere(asked))
    return Ground.ELSEWHERE if near else Ground.NOWHERE


def _ground_of_text(asked: Asked, leaf: Leaf, text: str) -> Ground:
    if text in marks_named(asked.text):
        return Ground.SAID
    exact = [*asked.named, *asked.mentions.names, *asked.mentions.quoted, *asked.returned.values()]
    several = len(leaf.path) > 1 and len(listed(text)) > 1
    whole = text in exact and not several and not any(_part(text, name) for name in asked.named)
    if whole and text in asked.text:
        return Ground.SAID
    if len(leaf.path) > 1 and isinstance(literal(text), list):
        # A text that denotes a list is not an element of another list.
        return Ground.NOWHERE
    found = stems(name_words(text.replace("_", " ")))
    if _says(asked.text, leaf.about, text):
        if plain_number(text) is not None and text not in words(asked.text):
            return Ground.CHANGED
        quoted = plain_number(text) is not None or not runs(found, stems(words(asked.text)))
        # If there are names, other words of the sub-question are not its subject.
        return Ground.SAID if quoted or not asked.named else Ground.CHANGED
    if found and len(text) > 1 and runs(found, stems(words(leaf.about))):
        return Ground.SCHEMA
    rest = iter(stems(words(asked.text)))
    apart = all(word in rest for word in found if word not in {"of", "the"})
    if any(bare(text) == bare(one) for one in exact) or (len(found) > 1 and apart):
        return Ground.CHANGED
    near = any(_says(other, leaf.about, text) for other in _elsewhere(asked))
    return Ground.ELSEWHERE if near else Ground.NOWHERE


def _says(where: str, about: str, text: str) -> bool:
    """Whether `text` occurs in `where` as a number, as a date or as words."""
    number, found = plain_number(text), stems(name_words(text.replace("_", " ")))
    if number is not None:
        return abs(number) in _numbers(where, dated=True)
    return _is_date(where, about, text) or bool(runs(found, stems(words(where))))


def crowded(asked: Asked, own: Sequence[Leaf]) -> list[Leaf]:
    """Return values whose only mentions in the sub-question are needed by other arguments.

    Each mention serves one argument: in "the concatenation of a and b", the first part cannot be
    the whole "a and b".
    """
    whole = tuple(DIGITS.get(word, word) for word in stems(words(asked.text)))
    left, found = list(whole), []
    # Field names shared with another argument may be used any number of times.
    fields = {step for leaf in own for step in leaf.path[1:] if isinstance(step, str)}
    parts = {part for _, day in dates_in(asked.text) for part in (day.year, day.month, day.day)}
    content = [leaf for leaf in own if not leaf.is_option and leaf.value not in fields | parts]
    texts = [leaf for leaf in content if isinstance(leaf.value, str)]
    numbers = [
        leaf for leaf in content if leaf not in texts and ground(asked, leaf) is not Ground.SCHEMA
    ]
    for leaf in (*sorted(texts, key=lambda one: len(words(as_text(one.value)))), *numbers):
        text = as_text(leaf.value)
        wanted = stems(name_words(text if leaf in texts else text.removeprefix("-")))
        wanted = tuple(DIGITS.get(word, word) for word in wanted)
        if not wanted or not runs(wanted, whole):
            continue
        if at := runs(wanted, left):
            left[at[0] : at[0] + len(wanted)] = [""] * len(wanted)
        else:
            found.append(leaf)
    return found


def _is_date(where: str, about: str, text: str) -> bool:
    """Whether a text is a date of `where`, in a common notation or one named by `about`."""
    known = [date for _, date in dates_in(where)]
    if (day := whole_date(text)) is not None:
        return day in known
    forms = (*NOTATIONS, *notations_named(about))
    return any(in_notation(date, form) == text for date in known for form in forms)


def _elsewhere(asked: Asked) -> tuple[str, ...]:
    return (asked.item_question, *asked.earlier, *asked.returned.values())


@lru_cache(maxsize=4096)
def _numbers(text: str, *, dated: bool) -> frozenset[Decimal]:
    """Return the absolute numbers of a text, in digits or words; parts of dates only if `dated`."""
    if not dated:
        for written, _ in dates_in(text):
            text = text.replace(written, " ")
    found = {plain_number(DIGITS.get(word, word)) for word in words(text)}
    found |= {Decimal(part) for _, day in dates_in(text) for part in (day.year, day.month, day.day)}
    return frozenset(abs(one) for one in found if one is not None)


_MINUS = re.compile(r"\b(?:minus|negative) \w+|(?<!\w)-\d")


def takes_both_signs(leaf: Leaf) -> bool:
    """Whether the document allows negative numbers, so that the sign has to be chosen."""
    return "negative" in words(leaf.about) and "non-negative" not in leaf.about.lower()


def says(text: str, name: str) -> bool:
    """Whether a text contains the words of a choice or field name consecutively."""
    return bool(runs(stems(_plain_words(name)), stems(_plain_words(text))))


def touches(text: str, name: str, known: Sequence[str] = ()) -> bool:
    """Whether a text contains any word of a name, apart from the words in `known`."""
    own = {*stems(_plain_words(name))} - {*stems(tuple(known))}
    return not own.isdisjoint(stems(_plain_words(text)))


def _plain_words(text: str) -> tuple[str, ...]:
    return without_articles(words(text.replace("_", " ").replace("-", " ")))


def without_articles(found: Sequence[str]) -> tuple[str, ...]:
    """Return the words except articles."""
    return tuple(word for word in found if word not in ARTICLES)


def places(asked: Asked, values: Sequence[JSON], *, anywhere: bool = False) -> list[int]:
    """Return where the sub-question states values, each after the previous one if possible.

    Positions count words from the start; the list is empty if any value is missing. `anywhere` also
    searches the earlier answers and the item's question.
    """
    texts = (asked.text, *(asked.earlier[::-1] if anywhere else ()), asked.item_question)
    for text in texts[: None if anywhere else 1]:
        found, whole = [-1], stems(words(text))
        for value in values:
            at = runs(stems(name_words(_plain(value))), whole)
            if not at:
                break
            found.append(next((one for one in at if one > found[-1]), at[0]))
        else:
            return found[1:]
    return []


def _plain(value: JSON) -> str:
    return as_text(abs(value) if isinstance(value, int | float) else value)


def beside(asked: Asked, value: JSON) -> tuple[str, ...]:
    """Return the words next to a value in the sub-question, such as ``years`` in "6 years"."""
    at, found = places(asked, [value]), words(asked.text)
    if not at:
        return ()
    size = max(1, len(name_words(as_text(value))))
    before = without_articles([word for word in found[: at[0]] if word != "of"])[-1:]
    return (*before, *found[at[0] + size : at[0] + size + 1])
