"""Detection of items that repeat another item of their own set or of a test set. Pure.

Many items share a pattern, such as *the sum of the digits of the calling code of the country in
which X stands*. Two such items share most of their words and are still different. Two items with
the same values and answers are the same item, however they are worded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

from toolhop_tools.construct.calls import literals
from toolhop_tools.construct.contract import choices
from toolhop_tools.construct.replies import same_code
from toolhop_tools.model import Item
from toolhop_tools.words import bare, runs, words

GRAM = 8
"""Number of consecutive words that an item must not share with a test set if they include a
value. Eight words without a value, *what is the sum of the digits of the*, also occur in
unrelated items."""
VERSION = 3
"""Version of these rules."""
_WORD = r"[^\W\d_a-zà-öø-ÿ][\w'’-]*"
_NAME = re.compile(rf"(?<=[^\s.?!:] ){_WORD}(?: {_WORD})*")
"""A run of capitalised words that does not begin a sentence."""
MASK = "*"


def duplicates(items: Sequence[Item]) -> dict[str, str]:
    """Return, by item id, which earlier item each duplicate repeats and how."""
    first: dict[Hashable, str] = {}
    repeated: dict[str, str] = {}
    for item in items:
        marks = _marks(item)
        if item.hops:
            code = tuple(sorted(same_code(hop.tool.program.source) for hop in item.hops))
            marks["code", code] = "the same code"
        if shared := next((mark for mark in marks if mark in first), None):
            repeated[item.id] = f"a copy of {first[shared]}: {marks[shared]}"
        else:
            first |= dict.fromkeys(marks, item.id)
    return repeated


def templates(items: Sequence[Item]) -> dict[str, str]:
    """Map each item id to the first item whose questions are the same apart from their values."""
    first: dict[tuple[str, ...], str] = {}

    def template(item: Item) -> tuple[str, ...]:
        values = values_of(item)
        return tuple(masked(text, values) for text in _texts(item))

    return {item.id: first.setdefault(template(item), item.id) for item in items}


def crowded(items: Sequence[Item], most: int) -> dict[str, str]:
    """Return, by id, a reason for each item whose template `most` earlier items already share."""
    counts = Counter[str]()
    reasons: dict[str, str] = {}
    for name, first in templates(items).items():
        counts[first] += 1
        if counts[first] > most:
            reasons[name] = f"one more than {most} of the template of {first}"
    return reasons


class Against:
    """Test sets, indexed by what identifies their items."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._marks: dict[Hashable, str] = {}
        self._grams: dict[tuple[str, ...], tuple[str, bool]] = {}
        """Each gram with its item, and whether it contains one of that item's values."""
        for item in items:
            values = values_of(item)
            self._marks = dict.fromkeys(_marks(item), item.id) | self._marks
            for gram in _grams_of(item):
                # Without hops it is not known which words are values.
                if not self._grams.get(gram, ("", False))[1]:
                    self._grams[gram] = item.id, not item.hops or _holds(gram, values)

    def overlap(self, item: Item) -> str:
        """Describe what an item shares with a test set; empty if nothing significant."""
        for mark, shared in _marks(item).items():
            if mark in self._marks:
                return f"{shared} as item {self._marks[mark]}"
        values = values_of(item)
        for gram in _grams_of(item):
            name, telling = self._grams.get(gram, ("", False))
            if name and (telling or _holds(gram, values)):
                return f"{' '.join(gram)!r} stands in item {name}"
        return ""


def values_of(item: Item) -> frozenset[str]:
    """Return the values that differ between items of one template.

    These are the answers and the arguments of gold calls, except options. If a gold call is
    unknown, names in the questions are used instead.
    """
    values = [item.answer, *(hop.answer for hop in item.hops)]
    for hop in item.hops:
        options = frozenset(name for name, _ in choices(hop.tool.schema.parameters))
        values += literals(hop.gold.arguments, options) if hop.gold else _NAME.findall(hop.question)
    if not all(hop.gold for hop in item.hops):
        values += _NAME.findall(item.question)
    return frozenset(filter(None, values))


def masked(text: str, values: Iterable[str]) -> str:
    """Return the words of a text with each run of values and numbers replaced by one `MASK`."""
    spelled = " ".join(words(text))
    given = {" ".join(words(value)) for value in values} - {""}
    for value in sorted(given, key=lambda value: (-len(value), value)):
        spelled = re.sub(rf"(?<!\S){re.escape(value)}(?!\S)", MASK, spelled)
    return re.sub(r"\*(?: \*)+", MASK, re.sub(r"\S*\d\S*", MASK, spelled))


def grams(text: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    """Return every run of `size` words; none if the text is shorter."""
    return (tuple(text[at : at + size]) for at in range(len(text) - size + 1))


def _marks(item: Item) -> dict[Hashable, str]:
    """Return what must be unique to an item, each mark with its description."""
    marks: dict[Hashable, str] = {("question", words(item.question)): "the same question"}
    answers = tuple(bare(hop.answer) for hop in item.hops)
    values = _words(values_of(item))
    if values > _words(answers):
        marks["values", values, answers] = "the same values and answers"
    return marks


def _words(values: Iterable[str]) -> frozenset[str]:
    return frozenset(word for value in values for word in words(value))


def _grams_of(item: Item) -> Iterator[tuple[str, ...]]:
    return (gram for text in _texts(item) for gram in grams(words(text), GRAM))


def _holds(gram: Sequence[str], values: Iterable[str]) -> bool:
    """Whether a gram contains a digit or a value."""
    return any(sign.isdigit() for word in gram for sign in word) or any(
        runs(words(value), gram) for value in values
    )


def _texts(item: Item) -> list[str]:
    return [item.question, *(hop.question for hop in item.hops)]
