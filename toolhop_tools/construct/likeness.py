"""How alike two tool schemas are, or two questions: TF-IDF against a fixed background. Pure."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache

from toolhop_tools.model import ToolSchema
from toolhop_tools.perturb.nearest import TfIdf
from toolhop_tools.perturb.nearest import words as schema_words
from toolhop_tools.readers.folder import builtin
from toolhop_tools.words import words

NEAR = 0.8
"""TF-IDF cosine from which two texts are near duplicates."""


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
