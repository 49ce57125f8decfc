"""Judges by name: a benchmark's own rules, word overlap, a file of answers, or a model.

Their answers are stored in the run under the judge's name (`toolhop_env.runs.judgements`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import jsonschema_rs

from toolhop_agents.models.base import ConversationTooLong, Model, ModelFault
from toolhop_env.messages import AssistantMessage, Message, Reply, UserMessage
from toolhop_env.questions import LlmQuestion, Question, SimilarityQuestion, digest, verdict
from toolhop_env.reading import without_thoughts
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import why

TRIES = 3
"""Maximum requests to a model for a valid answer; most mistakes are not repeated."""
REPAIR = "That is not valid under the schema. Reply with JSON alone that is, without other words."


class JudgeError(Exception):
    """A judge that cannot be used as given. The message says why, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Said:
    """A judge's answer."""

    judge: str
    """Name of the judge that answered."""
    answer: JSON
    replies: tuple[Reply, ...] = ()
    """All replies of the model, unreadable ones included."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """A judge was asked and gave no valid answer: the question stays open."""

    judge: str
    last: str
    """The model's last reply."""
    replies: tuple[Reply, ...] = ()
    cause: str = ""
    """What went wrong; empty if the replies were merely invalid."""


@runtime_checkable
class Judge(Protocol):
    """Answers questions on traces."""

    @property
    def name(self) -> str:
        """The judge's name in judgements."""
        ...

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """Return the answer, or None if this judge has none: the question stays open.

        Raises:
            ModelFault: the judge could not be asked.
        """
        ...


async def asked(judge: Judge, question: Question) -> Said | NoAnswer | None:
    """Ask a judge. If it fails at a question, only that question has no answer.

    Raises:
        ModelFault: the judge could not be asked.
    """
    try:
        said = await judge.answer(question)
    except ConversationTooLong as error:
        return NoAnswer(judge.name, "", cause=f"was given too long a text ({error})")
    except ModelFault:
        raise
    except Exception as error:  # noqa: BLE001 -- a package's judge may raise anything
        return NoAnswer(judge.name, "", cause=f"raised {type(error).__name__} ({error})")
    if said is None or isinstance(said, Said | NoAnswer):
        return said
    return NoAnswer(judge.name, "", cause=f"gave a {type(said).__name__} and no Said")


class Mechanical:
    """The benchmark's own rules, without a model."""

    name = "mechanical"

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """See `Judge.answer`. Questions without a rule stay open."""
        if not isinstance(question, LlmQuestion) or question.by_rule is None:
            return None
        return Said(self.name, question.by_rule)


class Overlap:
    """Similarity of two texts by shared words: F1 over lower-case words, 0 to 1."""

    name = "overlap"

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """See `Judge.answer`. Only similarity questions are answered."""
        if not isinstance(question, SimilarityQuestion):
            return None
        return Said(self.name, overlap(question.first, question.second))


def overlap(first: str, second: str) -> float:
    """Return the F1 over the words of two texts; 1 if neither has any."""
    one, other = (Counter(re.findall(r"\w+", text.casefold())) for text in (first, second))
    if not one and not other:
        return 1.0
    return 2 * (one & other).total() / (one.total() + other.total())


@dataclass(frozen=True, slots=True)
class Labels:
    """Answers from a file, such as people's labels, by the question's digest or subject."""

    name: str
    answers: Mapping[str, JSON]

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """See `Judge.answer`. Questions that are not in the file stay open."""
        about = question.about if isinstance(question, LlmQuestion) else question.kind
        found = self.answers.get(digest(question), self.answers.get(about))
        return None if found is None else Said(self.name, found)


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A model that answers each `LlmQuestion`. Similarity questions stay open."""

    model: Model
    votes: int = 1
    """Number of times each question is asked; the most frequent verdict counts."""

    @property
    def name(self) -> str:
        """The model's name, with the number of votes if there are several."""
        return f"{self.model.name} x{self.votes}" if self.votes > 1 else self.model.name

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """See `Judge.answer`. An answer that does not fit the schema is requested again.

        A vote without a valid reply counts as unsure, and so does a tie. If the question has no
        answer for unsure, the result is `NoAnswer`.
        """
        if not isinstance(question, LlmQuestion):
            return None
        votes = [await self._vote(question) for _ in range(self.votes)]
        replies = tuple(reply for one in votes for reply in one.replies)
        answers = [one.answer if isinstance(one, Said) else question.unsure for one in votes]
        given = [one for one in answers if one is not None]
        if not given:
            return NoAnswer(self.name, replies[-1].content, replies)
        (best, most), *others = Counter(map(verdict, given)).most_common()
        if others and others[0][1] == most:
            if question.unsure is None:
                return NoAnswer(self.name, "", replies, cause="gave tied votes")
            return Said(self.name, question.unsure, replies)
        return Said(self.name, next(one for one in given if verdict(one) == best), replies)

    async def _vote(self, question: LlmQuestion) -> Said | NoAnswer:
        schema = json.dumps(dict(question.schema), ensure_ascii=False)
        text = f"{question.prompt}\n\nReply with JSON alone, valid under this schema:\n{schema}"
        fits = jsonschema_rs.validator_for(dict(question.schema)).is_valid
        replies: list[Reply] = []
        messages: list[Message] = [UserMessage(text)]
        for _ in range(TRIES):
            replies.append(await self.model.reply(messages, ()))
            try:
                found: JSON = json.loads(_bare(without_thoughts(replies[-1].content)))
            except (ValueError, RecursionError):
                pass
            else:
                if fits(found):
                    return Said(self.name, found, tuple(replies))
            said = AssistantMessage(replies[-1].content, thoughts=replies[-1].thoughts)
            messages += [said, UserMessage(REPAIR)]
        return NoAnswer(self.name, replies[-1].content, tuple(replies))


def _bare(text: str) -> str:
    """Strip a code fence around the text."""
    found = re.fullmatch(r"\s*```(?:json)?\s*\n(.*?)\n?```\s*", text, flags=re.DOTALL)
    return found[1] if found else text


@dataclass(frozen=True, slots=True)
class Panel:
    """Several judges; each answers the questions that the previous ones leave open."""

    judges: tuple[Judge, ...]

    @property
    def name(self) -> str:
        """The judges' names, separated by commas."""
        return ",".join(judge.name for judge in self.judges)

    async def answer(self, question: Question) -> Said | NoAnswer | None:
        """See `Judge.answer`."""
        none: NoAnswer | None = None
        for judge in self.judges:
            said = await asked(judge, question)
            if said is None:
                continue
            if none is not None:  # the cost of its replies counts as well
                said = replace(said, replies=none.replies + said.replies)
            if isinstance(said, Said):
                return said
            none = said
        return none


def labels(path: Path, name: str = "file") -> Labels:
    """Read a judge from a file: an object of answers, or rows with ``digest`` and ``answer``.

    Rows without an answer are skipped.

    Args:
        path: the file.
        name: kind of judge, used in its name.

    Raises:
        JudgeError: the file cannot be read, or has neither form.
    """
    try:
        content = path.read_bytes()
        found = json.loads(content)
    except (OSError, ValueError, RecursionError) as error:
        raise JudgeError(f"the file of answers {path} cannot be read: {why(error)}") from error
    if isinstance(found, list) and all(isinstance(row, dict) and "digest" in row for row in found):
        found = {str(row["digest"]): row.get("answer") for row in found}
    if not isinstance(found, dict):
        raise JudgeError(
            f"{path} holds neither a JSON object of a question's digest to its answer nor a list "
            "of rows with digest and answer, as `toolhop judge-check --questions` writes it"
        )
    given = {key: answer for key, answer in found.items() if answer is not None}
    # A changed file counts as another judge, because the old answers no longer hold.
    version = hashlib.sha256(content).hexdigest()[:8]
    return Labels(f"{name}:{path.name}#{version}", given)
