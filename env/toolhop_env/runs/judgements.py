"""What a judge said of a run's traces: asked once, kept, and read whenever the run is scored.

    judgements.jsonl     a line for each answer, appended and synced

An answer holds for a question with the same digest alone: where a benchmark asks otherwise, the
question is open again. The last line for a question counts.

A run may hold the answers of several judges, each whole: figures are made of those of one, the
judge of the last line. Judges that were asked together, each for what those before it leave open,
are one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter

from toolhop_env.attempt import Attempt, Place, attempt_of
from toolhop_env.benchmarks import named
from toolhop_env.questions import NO_ANSWERS, Answers, Question, digest
from toolhop_env.spending import Spent
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools import regular
from toolhop_tools.growing import append

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
    """None where the judge failed at the question, which is open."""
    cost_usd: float | None = 0.0
    """None where the price is not known."""
    panel: str = ""
    """The judges that were asked together, as figures name them."""
    cause: str = ""
    """Why there is no answer."""


_LINE = TypeAdapter(Judgement)


def to_line(judgement: Judgement) -> bytes:
    """As it stands in the file."""
    return _LINE.dump_json(judgement) + b"\n"


Given: TypeAlias = dict[str, dict[str, Judgement]]
"""Judgements by episode and question."""


@dataclass(slots=True)
class Judgements:
    """All answers of a run."""

    by_panel: dict[str, Given] = field(default_factory=dict)
    panel: str = ""
    """The judge that figures are made of: the one that answered last."""
    _same: dict[tuple[str, str], Judgement] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Judgements:
        """The answers in a file; none where it is not there. A last line cut short is left out.

        Raises:
            OSError: it cannot be read.
        """
        judgements = cls()
        with contextlib.suppress(FileNotFoundError), regular.reading(path) as file:
            judgements.add(_with_panels([*_as_one(_valid(file))]))
        return judgements

    def add(self, more: Iterable[Judgement]) -> None:
        """Take answers in; one to a question that its judge has answered replaces that."""
        for one in more:
            self.by_panel.setdefault(one.panel, {}).setdefault(one.episode, {})[one.question] = one
            if one.answer is not None:
                self.panel = one.panel
                self._same[one.panel, one.digest] = one

    def of(self, episode: str, panel: str | None = None) -> Mapping[str, Judgement]:
        """The answers on one episode, by the question's id.

        Args:
            episode: its name.
            panel: whose answers; None for those of `self.panel`.
        """
        given = self.by_panel.get(self.panel if panel is None else panel, {})
        return given.get(episode, {})

    def same(self, panel: str, question: Question) -> Judgement | None:
        """What a judge said to the same question, of any episode."""
        return self._same.get((panel, digest(question)))

    @property
    def spent(self) -> Spent:
        """What the answers cost, of all judges; their tokens are not kept."""
        each = [of_one for given in self.by_panel.values() for of_one in given.values()]
        given = [one for of_one in each for one in of_one.values()]
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

    def attempt(self, trace: Trace, *, file: str = "", place: Place | None = None) -> Attempt:
        """The attempt of a trace, scored with the answers on it; nobody is asked.

        Args:
            trace: of any benchmark that is installed.
            file: the trace file's name.
            place: where it lies if it is packed.

        Raises:
            UnknownBenchmark: the trace's benchmark is not installed here.
        """
        found = attempt_of(trace, self.answers(trace), file=file, place=place)
        return replace(found, judge=self.panel)

    def state(self, episode: str) -> str:
        """A digest of the answers on an episode; empty for none."""
        given = self.of(episode)
        if not given:
            return ""
        parts = [
            (name, one.digest, one.panel, one.judge, one.answer)
            for name, one in sorted(given.items())
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def add(path: Path, found: Iterable[Judgement]) -> None:
    """Append answers to a file, synced; where its last line was cut short, on a line of their own.

    Raises:
        OSError: they cannot be written.
    """
    descriptor = regular.descriptor(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(descriptor).st_size
        cut = size and os.pread(descriptor, 1, size - 1) != b"\n"
        text = b"".join(to_line(one) for one in found)
        append(descriptor, b"\n" + text if cut else text, sync=True)
    finally:
        os.close(descriptor)


def holding(given: Mapping[str, Judgement], asked: Question) -> JSON:
    """The answer to what is asked, None where it was asked otherwise or not at all."""
    found = given.get(asked.id)
    return found.answer if found is not None and found.digest == digest(asked) else None


def _as_one(found: Iterable[Judgement]) -> Iterable[Judgement]:
    """The same, equal texts and answers held once: of many epochs most are asked alike."""
    known: dict[str, str] = {}
    answers: dict[str, JSON] = {}
    for one in found:
        texts = {name: getattr(one, name) for name in _TEXTS}
        same = {name: known.setdefault(text, text) for name, text in texts.items()}
        answer = answers.setdefault(json.dumps(one.answer), one.answer)
        yield Judgement(**same, answer=answer, cost_usd=one.cost_usd)


_TEXTS = ("episode", "question", "digest", "judge", "panel", "cause")


def _with_panels(found: Sequence[Judgement]) -> Iterable[Judgement]:
    """All of them with the judges that were asked together: older files name each by itself."""
    together = ",".join(dict.fromkeys(one.judge for one in found if not one.panel))
    return (one if one.panel else replace(one, panel=together) for one in found)


def _valid(lines: Iterable[bytes]) -> Iterable[Judgement]:
    for line in lines:
        if line.endswith(b"\n"):
            try:
                yield _LINE.validate_json(line)
            except ValueError:  # a line cut short by a kill, and gone on behind it
                continue
