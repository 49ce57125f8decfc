"""A judge's answers about a run's traces: asked once, stored, and read whenever the run is scored.

    judgements.jsonl     one line per answer, appended and synced

An answer is valid only for a question with the same digest: if a benchmark changes a question, it
is open again. The last line for a question counts. A run may store complete answers of several
judges; figures use those of the judge of the last line. Judges asked together, each about the
questions that those before it left open, count as one judge.
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
    """Id of the question."""
    digest: str
    """Digest of the question (`toolhop_env.questions.digest`)."""
    judge: str
    """Judge that answered, such as ``openai/gpt-4o``."""
    answer: JSON
    """The answer; None if the judge failed, which leaves the question open."""
    cost_usd: float | None = 0.0
    """Cost of the answer; None if the price is unknown."""
    panel: str = ""
    """The judges that were asked together, as named in figures."""
    cause: str = ""
    """Why there is no answer; empty if there is one."""


_LINE = TypeAdapter(Judgement)


def to_line(judgement: Judgement) -> bytes:
    """Return a judgement as a line of the file."""
    return _LINE.dump_json(judgement) + b"\n"


Given: TypeAlias = dict[str, dict[str, Judgement]]
"""Judgements by episode, then by question."""


@dataclass(slots=True)
class Judgements:
    """All answers stored for a run."""

    by_panel: dict[str, Given] = field(default_factory=dict)
    panel: str = ""
    """The judges whose answers figures use: those that answered last."""
    _same: dict[tuple[str, str], Judgement] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Judgements:
        """Read the answers in a file; empty if it does not exist. A truncated last line is ignored.

        Raises:
            OSError: it cannot be read.
        """
        judgements = cls()
        with contextlib.suppress(FileNotFoundError), regular.reading(path) as file:
            judgements.add(_with_panels([*_as_one(_valid(file))]))
        return judgements

    def add(self, more: Iterable[Judgement]) -> None:
        """Add answers, replacing earlier answers of the same judge to the same question."""
        for one in more:
            self.by_panel.setdefault(one.panel, {}).setdefault(one.episode, {})[one.question] = one
            if one.answer is not None:
                self.panel = one.panel
                self._same[one.panel, one.digest] = one

    def of(self, episode: str, panel: str | None = None) -> Mapping[str, Judgement]:
        """Return the answers about one episode, by question id.

        Args:
            episode: name of the episode.
            panel: the judges whose answers to return; None for `self.panel`.
        """
        given = self.by_panel.get(self.panel if panel is None else panel, {})
        return given.get(episode, {})

    def same(self, panel: str, question: Question) -> Judgement | None:
        """Return a judge's answer to the same question about any episode; None if there is none."""
        return self._same.get((panel, digest(question)))

    @property
    def spent(self) -> Spent:
        """Cost of all judges' answers; tokens are not recorded."""
        each = [of_one for given in self.by_panel.values() for of_one in given.values()]
        given = [one for of_one in each for one in of_one.values()]
        return sum((Spent(cost_usd=one.cost_usd) for one in given), Spent())

    def answers(self, trace: Trace) -> Answers:
        """Return the answers about a trace by question id, for unchanged questions.

        Raises:
            UnknownBenchmark: the trace's benchmark is not installed here.
        """
        if not (given := self.of(trace.started.episode)):
            return NO_ANSWERS
        benchmark = named(trace.started.benchmark)
        return benchmark.settled(trace, lambda asked: holding(given, asked))[0]

    def attempt(self, trace: Trace, *, file: str = "", place: Place | None = None) -> Attempt:
        """Score a trace with the stored answers, without asking a judge.

        Args:
            trace: a trace of any installed benchmark.
            file: name of the trace file.
            place: location of the trace if it is packed.

        Raises:
            UnknownBenchmark: the trace's benchmark is not installed here.
        """
        found = attempt_of(trace, self.answers(trace), file=file, place=place)
        return replace(found, judge=self.panel)

    def state(self, episode: str) -> str:
        """Return a digest of the answers about an episode; empty if there are none."""
        given = self.of(episode)
        if not given:
            return ""
        parts = [
            (name, one.digest, one.panel, one.judge, one.answer)
            for name, one in sorted(given.items())
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def add(path: Path, found: Iterable[Judgement]) -> None:
    """Append answers to a file and sync it; a truncated last line gets a line end first.

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
    """Return the answer to a question; None if it was never asked or has changed."""
    found = given.get(asked.id)
    return found.answer if found is not None and found.digest == digest(asked) else None


def _as_one(found: Iterable[Judgement]) -> Iterable[Judgement]:
    """Share equal texts and answers in memory, as most repeat over the epochs."""
    known: dict[str, str] = {}
    answers: dict[str, JSON] = {}
    for one in found:
        texts = {name: getattr(one, name) for name in _TEXTS}
        same = {name: known.setdefault(text, text) for name, text in texts.items()}
        answer = answers.setdefault(json.dumps(one.answer), one.answer)
        yield Judgement(**same, answer=answer, cost_usd=one.cost_usd)


_TEXTS = ("episode", "question", "digest", "judge", "panel", "cause")


def _with_panels(found: Sequence[Judgement]) -> Iterable[Judgement]:
    """Fill in the judges asked together, as older files name each judge separately."""
    together = ",".join(dict.fromkeys(one.judge for one in found if not one.panel))
    return (one if one.panel else replace(one, panel=together) for one in found)


def _valid(lines: Iterable[bytes]) -> Iterable[Judgement]:
    for line in lines:
        if line.endswith(b"\n"):
            try:
                yield _LINE.validate_json(line)
            except ValueError:  # a line truncated by a kill, with the next one appended
                continue
