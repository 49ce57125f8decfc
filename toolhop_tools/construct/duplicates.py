"""Which items are too much like others, of their own set or of a test set. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from toolhop_tools.construct.likeness import NEAR, question_likeness
from toolhop_tools.construct.replies import same_code
from toolhop_tools.construct.templates import (
    MASK,
    SHINGLE,
    Facts,
    facts_of,
    masked,
    templates,
    values_of,
)
from toolhop_tools.model import Item
from toolhop_tools.words import words

GRAM = 8
"""Words in a row that an item must not share with a test set where they hold a value."""
LEAST_PIECES, MOST_SHARED = 3, 0.5
"""Places of a question that hold a value, three words each: how many have to be there, and the
share of them that must not stand in one question of a test set."""
VERSION = 2
"""Of these rules."""


def duplicates(items: Sequence[Item]) -> dict[str, str]:
    """By id: of which earlier item, and how, an item is a duplicate. The first one stays."""
    kept: list[Item] = []
    found: dict[str, str] = {}
    for item in items:
        why = next((f"{why} {one.id}" for one in kept if (why := _same(item, one))), "")
        if why:
            found[item.id] = why
        else:
            kept.append(item)
    return found


def _same(item: Item, other: Item) -> str:
    if words(item.question) == words(other.question):
        return "the question of"
    if _code(item) == _code(other):
        return "the code of"
    own, its = facts_of(item), facts_of(other)
    if own is not None and own == its:
        return "in other words, with the same values and answers,"
    if own is not None and its is not None and own.starts.isdisjoint(its.starts):
        return ""  # of one pattern at most, which `crowded` counts
    cosine = question_likeness(item.question, other.question)
    return f"a question that reads like (cosine {cosine:.2f}) that of" if cosine >= NEAR else ""


def crowded(items: Sequence[Item], most: int) -> dict[str, str]:
    """By id: which item an item shares its template with, where `most` items before it do."""
    counts = Counter[str]()
    found: dict[str, str] = {}
    for name, first in templates(items).items():
        counts[first] += 1
        if counts[first] > most:
            found[name] = f"one more than {most} of the template of {first}"
    return found


@cache
def _trees(source: str) -> str:
    return same_code(source)


def _code(item: Item) -> list[str]:
    return sorted(_trees(hop.tool.program.source) for hop in item.hops)


class Against:
    """Test sets, by what gives an item of theirs away.

    Eight words in a row alone are too little: *what is the sum of the digits of the* stands in
    many items that have nothing else in common, and one changed word in eight hides a copy. So a
    run of eight words counts where it holds a value (an entity, a number), and so do most of the
    places in a question where a value stands, and the same values with the same answers.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._whole: dict[tuple[str, ...], str] = {}
        self._facts: dict[Facts, str] = {}
        self._grams: dict[tuple[str, ...], str] = {}
        self._special: dict[tuple[str, ...], str] = {}
        self._parts: dict[tuple[str, ...], set[str]] = {}
        for item in items:
            self._add(item)

    def _add(self, item: Item) -> None:
        self._whole.setdefault(words(item.question), item.id)
        facts = facts_of(item)
        if facts is not None:
            self._facts.setdefault(facts, item.id)
        values = values_of(item)
        for text in _texts(item):
            for gram in grams(words(text), GRAM):
                # Of an item without gold calls nobody knows which words are values.
                kind = self._special if not item.hops or _holds(gram, values) else self._grams
                kind.setdefault(gram, item.id)
        for part in grams(words(item.question), SHINGLE):
            self._parts.setdefault(part, set()).add(item.id)

    def overlap(self, item: Item) -> str:
        """What an item shares with a test set, and where; empty where it is nothing that counts."""
        if (name := self._whole.get(words(item.question))) is not None:
            return f"its question is that of item {name}"
        facts = facts_of(item)
        if facts is not None and facts in self._facts:
            return f"its values and answers are those of item {self._facts[facts]}"
        values = values_of(item)
        for text in _texts(item):
            for gram in grams(words(text), GRAM):
                name = self._special.get(gram)
                if name is None and _holds(gram, values):
                    name = self._grams.get(gram)
                if name is not None:
                    return f"{' '.join(gram)!r} stands in item {name}"
        return self._pieces(item, values)

    def _pieces(self, item: Item, values: frozenset[str]) -> str:
        """Whether most places of its question that hold a value are those of one test item."""
        own = [part for part in grams(words(item.question), SHINGLE) if _holds(part, values)]
        shared = Counter(name for part in own for name in self._parts.get(part, ()))
        [(name, count)] = shared.most_common(1) or [("", 0)]
        if len(own) < LEAST_PIECES or count < MOST_SHARED * len(own):
            return ""
        return f"{count} of {len(own)} places of its question with a value stand in item {name}"


def _holds(gram: Sequence[str], values: frozenset[str]) -> bool:
    """Whether words in a row hold a value, or a number."""
    return MASK in masked(" ".join(gram), values)


def grams(found: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    """Its runs of `size` words; none where there are fewer."""
    return (tuple(found[at : at + size]) for at in range(len(found) - size + 1))


def _texts(item: Item) -> list[str]:
    return [item.question, *(hop.question for hop in item.hops)]
