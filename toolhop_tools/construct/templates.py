"""Questions without their values: which items are one template with other values in it. Pure.

Many items are made by one pattern, as *the sum of the digits of the calling code of the country in
which X stands*. Two of them share most of their words and are not the same item; two that share
their values and answers are, in whatever words they ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from toolhop_tools.construct.calls import literals
from toolhop_tools.construct.code import choices
from toolhop_tools.model import Hop, Item
from toolhop_tools.words import bare, runs, words

_WORD = r"[^\W\d_a-zà-öø-ÿ][\w'’-]*"
_NAME = re.compile(rf"(?<=[^\s.?!:] ){_WORD}(?: {_WORD})*")
MASK = "*"
SHINGLE = 3
"""Words in a row of which likeness is counted."""
ALIKE = 0.8
"""Share of shingles that two texts have in common, of all that either has (Jaccard)."""


def values_of(item: Item) -> frozenset[str]:
    """What stands for something else in another item of its template: arguments of the gold calls,
    options aside, and answers. Where a gold call is not known, names are taken for arguments.
    """
    found = [item.answer, *(hop.answer for hop in item.hops)]
    for hop in item.hops:
        found += literals(hop.gold.arguments, _options(hop)) if hop.gold else _names(hop.question)
    if not all(hop.gold for hop in item.hops):
        found += _names(item.question)
    return frozenset(text for text in found if text)


def _names(text: str) -> list[str]:
    """Runs of words with a capital, but for the first word of a sentence."""
    return [found.group() for found in _NAME.finditer(text)]


def masked(text: str, values: Iterable[str]) -> tuple[str, ...]:
    """The words of a text, `MASK` in the place of each value and number."""
    found = list(words(text))
    for value in sorted((words(value) for value in values), key=lambda one: (-len(one), one)):
        for at in reversed(runs(value, found)):
            found[at : at + len(value)] = [MASK]
    plain = [MASK if any(map(str.isdigit, word)) else word for word in found]
    before = [None, *plain]
    return tuple(
        one for one, last in zip(plain, before, strict=False) if (one, last) != (MASK,) * 2
    )


def shingles(found: Sequence[str], size: int = SHINGLE) -> Iterator[tuple[str, ...]]:
    """Its runs of `size` words; all of them together where there are fewer."""
    if len(found) <= size:
        yield tuple(found)
        return
    for at in range(len(found) - size + 1):
        yield tuple(found[at : at + size])


def pattern_of(item: Item) -> frozenset[tuple[str, ...]]:
    """The shingles of question and sub-questions, values aside."""
    values = values_of(item)
    asked = [item.question, *(hop.question for hop in item.hops)]
    return frozenset(one for text in asked for one in shingles(masked(text, values)))


def jaccard(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """The share of what both have of what either has, from 0 to 1."""
    return len(one & other) / len(one | other) if one or other else 1.0


def templates(items: Sequence[Item]) -> dict[str, str]:
    """By id: the first item of the template that an item belongs to, which may be itself."""
    first: list[tuple[str, int, frozenset[tuple[str, ...]]]] = []
    found: dict[str, str] = {}
    for item in items:
        own, size = pattern_of(item), len(item.hops)
        for name, other_size, other in first:
            if size == other_size and jaccard(own, other) >= ALIKE:
                found[item.id] = name
                break
        else:
            first.append((item.id, size, own))
            found[item.id] = item.id
    return found


@dataclass(frozen=True, slots=True)
class Facts:
    """What an item starts from and what its chain gives: the item, in whatever words it asks."""

    starts: frozenset[str]
    """Values of gold calls that are neither options nor earlier answers."""
    answers: tuple[str, ...]
    """Of all hops."""


def facts_of(item: Item) -> Facts | None:
    """The facts of an item; None where no gold call has a value to start from."""
    answers = tuple(bare(hop.answer) for hop in item.hops)
    starts = frozenset(
        bare(text)
        for hop in item.hops
        if hop.gold
        for text in literals(hop.gold.arguments, _options(hop))
        if bare(text) not in answers
    )
    return Facts(starts, answers) if starts else None


def _options(hop: Hop) -> frozenset[str]:
    return frozenset(name for name, _ in choices(hop.tool.schema.parameters))
