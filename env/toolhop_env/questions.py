"""What a scorer cannot decide by itself, and asks a judge.

A benchmark lists the questions of a trace; the runner has them answered and keeps the answers
beside the traces. Scoring takes the answers as an argument, so that a run is scored again, and
replayed, without asking.
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
    """A question in words, to be answered by a language model, or by a person."""

    id: str
    """Unique within the trace, such as ``plan_matches_goal``."""
    prompt: str
    schema: Mapping[str, JSON]
    """JSON Schema of the answer. An answer that does not fit it is no answer."""
    kind: Literal["llm"] = "llm"
    about: str = ""
    """What kind of question it is, such as ``tool_relevance``: agreement is counted by it."""
    unsure: JSON = None
    """The answer that says that it is not known: what tied votes, and a model without a valid
    reply, come to. None where there is no such answer: the question then stays open."""
    by_rule: JSON = None
    """The answer by the benchmark's own rules, without a model; None where it has none."""


@dataclass(frozen=True, slots=True)
class SimilarityQuestion:
    """How alike two texts are: the answer is a number, 1 for the same meaning."""

    id: str
    first: str
    second: str
    kind: Literal["similarity"] = "similarity"


@dataclass(frozen=True, slots=True)
class SimilaritiesQuestion:
    """How alike a text is to each of several: the answer is a list of numbers, one for each.

    A judge that answers `SimilarityQuestion` answers it too: it is asked pair by pair.
    """

    id: str
    text: str
    others: tuple[str, ...]
    kind: Literal["similarities"] = "similarities"

    @property
    def pairs(self) -> Iterator[SimilarityQuestion]:
        """The same, one question a pair."""
        return (SimilarityQuestion(self.id, self.text, other) for other in self.others)


Question: TypeAlias = LlmQuestion | SimilarityQuestion | SimilaritiesQuestion

Answers: TypeAlias = Mapping[str, JSON]
"""By the question's id. A question without an answer is absent: what needs it is not scored."""
NO_ANSWERS: Answers = {}


NOT_ASKED = frozenset({"about", "unsure", "by_rule"})
"""Fields of a question that a judge is not shown."""


def verdict(answer: JSON) -> str:
    """What of an answer is counted and compared: its ``verdict`` where it has one, or all of it."""
    if isinstance(answer, dict) and isinstance(found := answer.get("verdict"), str):
        return found
    return json.dumps(answer, sort_keys=True, ensure_ascii=False)


def digest(question: Question) -> str:
    """SHA-256 of all that is asked: two questions with one digest have one answer."""
    asked = {name: value for name, value in asdict(question).items() if name not in NOT_ASKED}
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
