"""What a judge said of a run's traces: asked once, kept, and read whenever the run is scored.

    judgements.jsonl     a line for each answer, appended and synced

An answer holds for a question with the same digest alone: where a benchmark asks otherwise, the
question is open again. The last line for a question counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from toolhop_env.attempt import Attempt, attempt_of
from toolhop_env.benchmarks import named
from toolhop_env.questions import NO_ANSWERS, Answers, Question, digest
from toolhop_env.spending import Spent
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON

JUDGEMENTS = "judgements.jsonl"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One answer of a judge."""

    episode: str
    question: str
    """The question's id."""
    digest: str
    """Of the question (`toolhop_env.questions.digest`)."""
    judge: str
    """Who answered, such as ``openai/gpt-4o``."""
    answer: JSON
    cost_usd: float | None = 0.0
    """None where the price is not known."""


_LINE = TypeAdapter(Judgement)


def to_line(judgement: Judgement) -> bytes:
    """As it stands in the file."""
    return _LINE.dump_json(judgement) + b"\n"


@dataclass(slots=True)
class Judgements:
    """All answers of a run, by episode and question."""

    found: dict[str, dict[str, Judgement]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Judgements:
        """The answers in a file; none where it is not there. A last line cut short is left out.

        Raises:
            OSError: it cannot be read.
        """
        judgements = cls()
        if path.exists():
            with path.open("rb") as file:
                judgements.add(_valid(file))
        return judgements

    def add(self, more: Iterable[Judgement]) -> None:
        """Take answers in; one to a question that has one replaces it."""
        for one in more:
            self.found.setdefault(one.episode, {})[one.question] = one

    def of(self, episode: str) -> Mapping[str, Judgement]:
        """The answers on one episode, by the question's id."""
        return self.found.get(episode, {})

    @property
    def spent(self) -> Spent:
        """What the answers cost; their tokens are not kept."""
        given = [one for of_one in self.found.values() for one in of_one.values()]
        return sum((Spent(cost_usd=one.cost_usd) for one in given), Spent())

    def answers(self, trace: Trace) -> Answers:
        """The answers on a trace by the question's id, to questions that read as they did then.

        Raises:
            UnknownBenchmark: the trace's benchmark is not installed here.
        """
        if not (given := self.of(trace.started.episode)):
            return NO_ANSWERS
        benchmark = named(trace.started.benchmark)
        return benchmark.settled(trace, lambda asked: holding(given, asked))[0]

    def attempt(self, trace: Trace, *, file: str = "") -> Attempt:
        """The attempt of a trace, scored with the answers on it; nobody is asked.

        Args:
            trace: of any benchmark that is installed.
            file: the trace file's name.

        Raises:
            UnknownBenchmark: the trace's benchmark is not installed here.
        """
        return attempt_of(trace, self.answers(trace), file=file)

    def state(self, episode: str) -> str:
        """A digest of the answers on an episode; empty for none."""
        given = self.of(episode)
        if not given:
            return ""
        parts = [(name, one.digest, one.judge, one.answer) for name, one in sorted(given.items())]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def holding(given: Mapping[str, Judgement], asked: Question) -> JSON:
    """The answer to what is asked, None where it was asked otherwise or not at all."""
    found = given.get(asked.id)
    return found.answer if found is not None and found.digest == digest(asked) else None


def _valid(lines: Iterable[bytes]) -> Iterable[Judgement]:
    for line in lines:
        if line.endswith(b"\n"):
            try:
                yield _LINE.validate_json(line)
            except ValueError:  # a line cut short by a kill, and gone on behind it
                continue
