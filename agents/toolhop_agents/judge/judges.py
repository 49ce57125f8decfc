"""Judges by name: a measure of word overlap, a file of answers, or a model.

What a judge says is kept in the run (`toolhop_env.runs.judgements`), with the judge's name.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import jsonschema_rs

from toolhop_agents.models.base import Model
from toolhop_env.messages import Reply, UserMessage
from toolhop_env.questions import LlmQuestion, Question, SimilarityQuestion, digest
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import why

TRIES = 3
"""How often a model is asked one question before it stays open: most slips do not come twice."""


class JudgeError(Exception):
    """A judge that cannot be used as given; says why and what is allowed."""


@dataclass(frozen=True, slots=True)
class Said:
    """A judge's answer."""

    judge: str
    """Who gave it."""
    answer: JSON
    replies: tuple[Reply, ...] = ()
    """What a model was asked for it, answers that could not be read included."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Replies of a model of which none is an answer: the question stays open."""

    judge: str
    last: str
    """The last reply's text."""
    replies: tuple[Reply, ...]


@runtime_checkable
class Judge(Protocol):
    """Answers questions on traces."""

    @property
    def name(self) -> str:
        """Who it is, as the judgements name it."""
        ...

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """The answer, or None where this judge has none: the question stays open.

        Raises:
            ModelFault: the judge could not be asked.
        """
        ...


class Overlap:
    """Similarity of two texts by the words they share: F1 over words in small letters, 0 to 1."""

    name = "overlap"

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """See `Judge.answer`. Questions in words stay open."""
        if not isinstance(question, SimilarityQuestion):
            return None
        return Said(self.name, overlap(question.first, question.second))


def overlap(first: str, second: str) -> float:
    """F1 over the words of two texts; 1 where both have none."""
    one, other = (Counter(re.findall(r"\w+", text.casefold())) for text in (first, second))
    if not one and not other:
        return 1.0
    return 2 * (one & other).total() / (one.total() + other.total())


@dataclass(frozen=True, slots=True)
class Labels:
    """Answers from a file, such as people's: a JSON object of the question's digest to answer."""

    name: str
    answers: Mapping[str, JSON]

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """See `Judge.answer`. What the file does not hold stays open."""
        key = digest(question)
        return Said(self.name, self.answers[key]) if key in self.answers else None


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A model that is asked the questions in words. Similarity stays open."""

    model: Model

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """See `Judge.answer`. An answer that does not fit the schema is asked for again.

        One question that a model cannot answer stops no run: what was replied is `NoAnswer`.
        """
        if not isinstance(question, LlmQuestion):
            return None
        schema = json.dumps(dict(question.schema), ensure_ascii=False)
        text = f"{question.prompt}\n\nReply with JSON alone, valid under this schema:\n{schema}"
        fits = jsonschema_rs.validator_for(dict(question.schema)).is_valid
        replies: list[Reply] = []
        for _ in range(TRIES):
            replies.append(await self.model.reply([UserMessage(text)], ()))
            try:
                found: JSON = json.loads(_bare(replies[-1].content))
            except (ValueError, RecursionError):
                continue
            if fits(found):
                return Said(self.name, found, tuple(replies))
        return NoAnswer(self.name, replies[-1].content, tuple(replies))


def _bare(text: str) -> str:
    """The text without a fence around it."""
    found = re.fullmatch(r"\s*```(?:json)?\s*\n(.*?)\n?```\s*", text, flags=re.DOTALL)
    return found[1] if found else text


@dataclass(frozen=True, slots=True)
class Panel:
    """Several judges, each for the questions that those before it leave open."""

    judges: tuple[Judge, ...]

    @property
    def name(self) -> str:
        """All their names."""
        return ",".join(judge.name for judge in self.judges)

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """See `Judge.answer`."""
        none: NoAnswer | None = None
        for judge in self.judges:
            said = await judge.answer(question)
            if said is None:
                continue
            if none is not None:  # what its replies took counts as well
                said = replace(said, replies=none.replies + said.replies)
            if isinstance(said, Said):
                return said
            none = said
        return none


def labels(path: Path) -> Labels:
    """The judge of a file.

    Raises:
        JudgeError: it cannot be read, or holds no object.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise JudgeError(f"the file of answers {path} cannot be read: {why(error)}") from error
    if not isinstance(found, dict):
        raise JudgeError(f"{path} holds no JSON object of a question's digest to its answer")
    return Labels(f"file:{path.name}", found)
