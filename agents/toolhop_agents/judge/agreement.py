"""Answers of judges, of the benchmark's rules and of people to the questions of some runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, islice, zip_longest
from random import Random
from typing import NamedTuple

import jsonschema_rs

from toolhop_agents.judge.judges import JudgeError, Labels, Mechanical
from toolhop_env.benchmarks import named
from toolhop_env.questions import LlmQuestion, digest, verdict
from toolhop_env.runs.judgements import Judgement, Judgements, holding
from toolhop_env.runs.store import RunStore
from toolhop_env.statistics.agreement import Agreement, agreement
from toolhop_env.trace import Ending, Trace
from toolhop_sandbox.outcome import JSON

EVERY = "all"
"""Name for all kinds of questions together."""


class Place(NamedTuple):
    """A question in an episode."""

    item: str
    run: str
    episode: str
    digest: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The agreement of two judges on one kind of question."""

    first: str
    second: str
    about: str
    """The kind, or `EVERY`, for which there is no kappa because its verdicts use several scales."""
    found: Agreement


@dataclass(slots=True)
class Verdicts:
    """The verdicts of each judge."""

    by_judge: dict[str, dict[Place, str]] = field(default_factory=lambda: defaultdict(dict))
    """Verdicts by judge; the rules are named `Mechanical.name`, people are named after their
    file."""
    questions: dict[str, LlmQuestion] = field(default_factory=dict)
    """Questions by digest."""
    episodes: dict[str, str] = field(default_factory=dict)
    """One episode with each question, by digest."""

    @classmethod
    def read(cls, stores: Iterable[RunStore]) -> Verdicts:
        """Read the stored answers of the runs, and the rules' answers; no judge is asked.

        Raises:
            StoreError: a run cannot be read.
        """
        found = cls()
        for store in stores:
            kept = store.judgements()
            for trace in store.traces():
                if trace.ended is not None and trace.ended.ending is not Ending.ERRORED:
                    found._add(str(store.folder), trace, kept)
        return found

    def _add(self, run: str, trace: Trace, kept: Judgements) -> None:
        for panel in list(kept.by_panel) or [Mechanical.name]:
            given = kept.of(trace.started.episode, panel)
            for question, answer in _answered(trace, given if kept.by_panel else None):
                key = digest(question)
                place = Place(trace.started.item, run, trace.started.episode, key)
                self.questions.setdefault(key, question)
                self.episodes.setdefault(key, trace.started.episode)
                if question.by_rule is not None:
                    self.by_judge[Mechanical.name][place] = verdict(question.by_rule)
                if answer is not None and panel != Mechanical.name:
                    self.by_judge[panel][place] = verdict(answer)

    def add_labels(self, labels: Labels) -> None:
        """Add people's labels in every place where their question was asked.

        Raises:
            JudgeError: a label does not fit its question's schema, or no label belongs to these
                runs.
        """
        places = {place for of in self.by_judge.values() for place in of}
        for key, question in self.questions.items():
            if (answer := labels.answers.get(key)) is None:
                continue
            if not jsonschema_rs.is_valid(dict(question.schema), answer):
                raise JudgeError(
                    f"{labels.name}: {answer!r:.60} is not an answer to {key[:12]}... "
                    f"({question.about}); it has to fit {dict(question.schema)}"
                )
            of_one = {place: verdict(answer) for place in places if place.digest == key}
            self.by_judge[labels.name].update(of_one)
        if labels.name not in self.by_judge:
            raise JudgeError(
                f"{labels.name}: no label is of a question of these runs; `toolhop judge-check "
                "RUN --questions FILE` writes them with their digests"
            )

    def compared(self, *, seed: int, resamples: int, confidence: float) -> Iterator[Compared]:
        """Yield the agreement of each pair of judges, by kind of question and then overall.

        Rules and people come second in a pair.
        """
        names = [*self.by_judge]
        rules = [name for name in names if name == Mechanical.name]
        people = [name for name in names if name.startswith("file:")]
        order = [*(name for name in names if name not in (*rules, *people)), *rules, *people]
        for first, second in combinations(order, 2):
            both = self.by_judge[first].keys() & self.by_judge[second].keys()
            kinds: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(dict)
            for place in sorted(both):
                pair = self.by_judge[first][place], self.by_judge[second][place]
                for about in (self.about(place.digest), EVERY):
                    kinds[about].setdefault(place.item, []).append(pair)
            for about in sorted(kinds, key=lambda name: (name == EVERY, name)):
                if about != EVERY or len(kinds) > 2:
                    yield Compared(
                        first,
                        second,
                        about,
                        agreement(
                            kinds[about], seed=seed, resamples=resamples, confidence=confidence
                        ),
                    )

    def about(self, key: str) -> str:
        """Return the subject of the question with this digest, or its id if it has none."""
        return str(self.questions[key].about) or self.questions[key].id

    def to_label(self, sample: int | None, seed: int) -> list[JSON]:
        """Return the questions as rows for people to answer, without any judge's answer.

        Args:
            sample: number of questions, taken from the kinds in turn and at random within a kind;
                None for all.
            seed: seed of the sample.
        """
        chosen = self.questions
        if sample is not None:
            kinds: dict[str, list[str]] = defaultdict(list)
            for key in Random(seed).sample(sorted(chosen), len(chosen)):
                kinds[self.about(key)].append(key)
            turns = (key for keys in zip_longest(*kinds.values()) for key in keys if key)
            drawn = set(islice(turns, sample))
            chosen = {key: one for key, one in chosen.items() if key in drawn}
        return [
            {
                "digest": key,
                "about": self.about(key),
                "episode": self.episodes[key],
                "prompt": question.prompt,
                "schema": dict(question.schema),
                "answer": None,
            }
            for key, question in chosen.items()
        ]


def _answered(
    trace: Trace, given: Mapping[str, Judgement] | None
) -> Iterator[tuple[LlmQuestion, JSON]]:
    """Yield each `LlmQuestion` with the judge's answer, or the rules' if `given` is None."""

    def said(question: object) -> JSON:
        if not isinstance(question, LlmQuestion):
            return None
        return question.by_rule if given is None else holding(given, question)

    asked, answers = named(trace.started.benchmark).asked(trace, said)
    for name, question in asked.items():
        if isinstance(question, LlmQuestion):
            yield question, answers.get(name)
