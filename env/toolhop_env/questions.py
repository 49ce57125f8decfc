"""Questions that a scorer cannot decide by itself and puts to a judge.

A benchmark lists the questions about a trace; the runner has them answered and stores the answers
next to the traces. Scoring takes the answers as an argument, so that runs can be rescored and
replayed without a judge.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from toolhop_sandbox.outcome import JSON


@dataclass(frozen=True, slots=True)
class LlmQuestion:
    """A question in words, for a language model or a person to answer."""

    id: str
    """Id, unique within the trace, such as ``plan_matches_goal``."""
    prompt: str
    schema: Mapping[str, JSON]
    """JSON Schema of the answer. An answer that does not fit it is discarded."""
    kind: Literal["llm"] = "llm"
    about: str = ""
    """Kind of question, such as ``tool_relevance``; agreement is measured per kind."""
    unsure: JSON = None
    """Answer that means "unknown", used if votes tie or a model gives no valid reply. None if
    there is no such answer: the question then stays open."""
    by_rule: JSON = None
    """Answer by the benchmark's own rules, without a model; None if they give none."""


@dataclass(frozen=True, slots=True)
class SimilarityQuestion:
    """Asks how similar two texts are; the answer is a number, 1 for the same meaning."""

    id: str
    first: str
    second: str
    kind: Literal["similarity"] = "similarity"


@dataclass(frozen=True, slots=True)
class SimilaritiesQuestion:
    """Asks how similar a text is to each of several others; the answer is a list of numbers.

    A judge that answers `SimilarityQuestion` can answer it too, pair by pair.
    """

    id: str
    text: str
    others: tuple[str, ...]
    kind: Literal["similarities"] = "similarities"

    @property
    def pairs(self) -> Iterator[SimilarityQuestion]:
        """The question split into pairs."""
        return (SimilarityQuestion(self.id, self.text, other) for other in self.others)


Question: TypeAlias = LlmQuestion | SimilarityQuestion | SimilaritiesQuestion

Answers: TypeAlias = Mapping[str, JSON]
"""Answers by question id. Unanswered questions are absent, and values that need them are None."""
NO_ANSWERS: Answers = {}


NOT_ASKED = frozenset({"about", "unsure", "by_rule"})
"""Fields of a question that judges do not see."""


def verdict(answer: JSON) -> str:
    """Return the part of an answer that is compared: its ``verdict``, else all of it."""
    if isinstance(answer, dict) and isinstance(found := answer.get("verdict"), str):
        return found
    return json.dumps(answer, sort_keys=True, ensure_ascii=False)


def digest(question: Question) -> str:
    """Return the SHA-256 of what a judge sees; questions with equal digests share one answer."""
    asked = {name: value for name, value in asdict(question).items() if name not in NOT_ASKED}
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
