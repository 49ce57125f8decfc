"""What is too much like something else: documents, questions, and whole items. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from toolhop_tools.construct.replies import same_code
from toolhop_tools.model import Item, ToolSchema
from toolhop_tools.perturb.nearest import TfIdf
from toolhop_tools.perturb.nearest import words as schema_words
from toolhop_tools.readers.folder import builtin
from toolhop_tools.words import words

NEAR = 0.8
"""TF-IDF cosine from which two texts are near duplicates."""
GRAM = 8
"""Words in a row that an item must not share with a test set."""


@cache
def _documents() -> TfIdf:
    """Weights of words by the documents that come with the package: a fixed background, so that
    how alike two documents are depends on no third one.
    """
    tools = {
        json.dumps(tool.schema.to_openai(), sort_keys=True): tool.schema
        for item in builtin().items
        for tool in item.tools.values()
    }
    return TfIdf([Counter(schema_words(schema)) for schema in tools.values()], unknown=True)


def likeness(one: ToolSchema, other: ToolSchema) -> float:
    """The cosine of two documents."""
    return _documents().cosine(Counter(schema_words(one)), Counter(schema_words(other)))


@cache
def _questions() -> TfIdf:
    return TfIdf([Counter(words(item.question)) for item in builtin().items], unknown=True)


def question_likeness(one: str, other: str) -> float:
    """The cosine of two questions."""
    return _questions().cosine(Counter(words(one)), Counter(words(other)))


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
    cosine = question_likeness(item.question, other.question)
    return f"a question that reads like (cosine {cosine:.2f}) that of" if cosine >= NEAR else ""


@cache
def _trees(source: str) -> str:
    return same_code(source)


def _code(item: Item) -> list[str]:
    return sorted(_trees(hop.tool.program.source) for hop in item.hops)


class Against:
    """The texts of test sets, in runs of `GRAM` words."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._grams = {
            gram: item.id for item in items for text in _texts(item) for gram in grams(text)
        }

    def overlap(self, item: Item) -> str:
        """The first words in a row that an item shares with a test set, and where; else empty."""
        for text in _texts(item):
            for gram in grams(text):
                if gram in self._grams:
                    return f"{' '.join(gram)!r} stands in item {self._grams[gram]}"
        return ""


def grams(text: str) -> Iterator[tuple[str, ...]]:
    """Its runs of `GRAM` words."""
    found = words(text)
    return (found[at : at + GRAM] for at in range(len(found) - GRAM + 1))


def _texts(item: Item) -> list[str]:
    return [item.question, *(hop.question for hop in item.hops)]
