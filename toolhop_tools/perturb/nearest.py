"""Similarity of tools to an item's own, by the cosine of TF-IDF weights.

A tool's text is its name, its description, and the names and descriptions of its parameters, split
into words. No model is needed, and a data set gives the same order on every machine.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item, Tool, ToolSchema

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_DIGITS = 9
"""Digits to which similarities are rounded, so that their order does not depend on the last bit."""


class TfIdf:
    """TF-IDF weights: words that occur in fewer texts weigh more."""

    def __init__(self, texts: Sequence[Counter[str]], *, unknown: bool = False) -> None:
        """Count the texts that have each word.

        Args:
            texts: the words of each text.
            unknown: whether a word in none of them weighs as much as a word in one; otherwise it is
                ignored.
        """
        known = Counter(word for text in texts for word in text)
        # A word that occurs in every text is uninformative and gets weight zero.
        self._idf = {word: math.log(len(texts) / count) for word, count in known.items()}
        self._unknown = math.log(len(texts)) if unknown and texts else 0.0

    def weights(self, text: Counter[str]) -> dict[str, float]:
        """Return the weight of each word, as a vector of length 1, without zero weights."""
        weights = {
            word: (1 + math.log(count)) * idf
            for word, count in sorted(text.items())
            if (idf := self._idf.get(word, self._unknown))
        }
        length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}

    def cosine(self, one: Counter[str], other: Counter[str]) -> float:
        """Return the similarity of two texts, from 0 to 1."""
        found = self.weights(other)
        sums = (found.get(word, 0.0) * weight for word, weight in self.weights(one).items())
        return round(math.fsum(sums), _DIGITS)


class Nearest:
    """An index of a data set's tools that ranks them by similarity to an item's."""

    def __init__(self, items: Sequence[Item]) -> None:
        found: dict[str, tuple[str, Tool]] = {}
        for item in items:
            for tool in item.all_tools.values():
                found.setdefault(_key(tool), (item.id, tool))
        # Sorted, so that ties in similarity are broken in the same way every time.
        self._tools = sorted(found.values(), key=lambda one: (one[0], one[1].name))
        texts = [Counter(words(tool.schema)) for _, tool in self._tools]
        self._weights = TfIdf(texts)
        postings: dict[str, list[tuple[int, float]]] = {}
        for index, text in enumerate(texts):
            for word, weight in self._weights.weights(text).items():
                postings.setdefault(word, []).append((index, weight))
        self._postings = {
            word: (np.array([i for i, _ in found]), np.array([weight for _, weight in found]))
            for word, found in postings.items()
        }

    def others(self, item: Item, like: Iterable[Tool] | None = None) -> Iterator[Tool]:
        """Yield tools of other items, most similar to any of the item's own first.

        Tools with the same code as one of the item's are skipped. So are tools with the name of an
        item's tool or of a nearer tool, since a model could not tell them apart.

        Args:
            item: the item whose tools are skipped.
            like: the tools to compare with; None for all of the item's.
        """
        taken = {name.casefold() for name in item.all_tools}
        bodies = {_does(tool) for tool in item.all_tools.values()}
        likeness = self._likeness(item.tools.values() if like is None else like)
        for index in np.argsort(-likeness, kind="stable"):
            tool = self._tools[index][1]
            name = tool.name.casefold()
            if name not in taken and _does(tool) not in bodies:
                taken.add(name)
                yield tool

    def among(self, tools: Sequence[Tool]) -> list[list[float]]:
        """Return the cosines between all pairs of tools."""
        texts = [Counter(words(tool.schema)) for tool in tools]
        return [[self._weights.cosine(one, other) for other in texts] for one in texts]

    def _likeness(self, tools: Iterable[Tool]) -> NDArray[np.float64]:
        """Return, for each indexed tool, its largest cosine similarity to any of `tools`."""
        best = np.zeros(len(self._tools))
        for tool in tools:
            sums = np.zeros(len(self._tools))
            for word, weight in self._weights.weights(Counter(words(tool.schema))).items():
                places, weights = self._postings[word]
                sums[places] += weight * weights
            best = np.maximum(best, sums)
        return best.round(_DIGITS)

    def likeness_to(self, text: str) -> dict[str, float]:
        """Return the name of each tool similar to a text, with its similarity, up to 1."""
        sums: dict[str, float] = {}
        said = Counter(word.lower() for word in _WORD.findall(text))
        for word, weight in self._weights.weights(said).items():
            for place, other in zip(*self._postings[word], strict=True):
                name = self._tools[place][1].name
                sums[name] = sums.get(name, 0.0) + weight * float(other)
        return {name: round(found, _DIGITS) for name, found in sums.items()}


def words(schema: ToolSchema) -> list[str]:
    """Return the words of a schema in lower case, with names split into words."""
    text = [schema.name, schema.description, *schema_texts(dict(schema.parameters))]
    return [word.lower() for part in text for word in _WORD.findall(part)]


def schema_texts(schema: JSON) -> list[str]:
    """Return the names and descriptions of the parameters, at every depth."""
    if isinstance(schema, list):
        return [text for part in schema for text in schema_texts(part)]
    if not isinstance(schema, dict):
        return []
    found = []
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            found += list(value)
        if key == "description" and isinstance(value, str):
            found.append(value)
        found += schema_texts(value)
    return found


def _key(tool: Tool) -> str:
    """Return a key that is equal for identical tools."""
    schema = tool.schema
    parts = [schema.name, schema.description, dict(schema.parameters), _does(tool)]
    return json.dumps(parts, sort_keys=True)


def _does(tool: Tool) -> str:
    """Return what a tool executes: for a program its source, whatever its function's name."""
    body = tool.body
    return body.source if isinstance(body, Program) else json.dumps(tool.body_parts, sort_keys=True)
