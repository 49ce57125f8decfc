"""What a benchmark is to the simulator: its gold, its measures, and how a trace is scored.

A benchmark is pure: it reads items and traces, and asks nobody. How an agent is prompted for it
stands in its binding (`toolhop_agents.benchmarks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from toolhop_env.measures import CODES, CONDUCT, Measure, Scorer, Total, leading
from toolhop_env.official import Condition
from toolhop_env.questions import Answers, Question
from toolhop_env.score import Values
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item


@dataclass(frozen=True, slots=True)
class Milestone:
    """A step of the way to the answer that a trace reached, or did not."""

    label: str
    """What it is, such as a hop's tool."""
    expected: str
    """What shows that it was reached, such as a hop's gold answer; empty for nothing."""
    reached: bool


def final_text(trace: Trace) -> str | None:
    """The whole reply that ended an answered episode."""
    return trace.final_text


def _item_answer(gold: JSON) -> str:
    found = gold.get("answer", "") if isinstance(gold, dict) else gold
    return found if isinstance(found, str) else str(found)


@dataclass(frozen=True, slots=True)
class Presentation:
    """What a person reads of a benchmark and its traces."""

    title: str = ""
    """As in headings; the benchmark's name where empty."""
    expected: Callable[[JSON], str] = _item_answer
    """The gold answer, from `Benchmark.gold`."""
    given: Callable[[Trace], str | None] = final_text
    """The answer that was given, as scored; None for none."""
    milestones: Callable[[Trace], Sequence[Milestone]] = lambda _: ()
    """The steps of the way, each reached or not."""
    milestone: str = "milestone"
    """What one of them is called, in the singular."""
    explain_gap: Callable[[Trace], str | None] = lambda _: None
    """Why two answer measures differ on a trace, in a word; None where they agree, or where the
    benchmark cannot tell. The diagnosis groups such episodes by it."""


@dataclass(frozen=True, slots=True)
class Judging:
    """What scoring cannot decide by itself."""

    questions: Callable[[Trace], Sequence[Question]] = lambda _: ()
    """What a judge has to answer of a trace that has ended."""
    follow_ups: Callable[[Trace, Answers], Sequence[Question]] = lambda _, __: ()
    """What it has to answer besides, once the answers so far are known; asked until there is
    nothing new."""
    judge: str | None = None
    """Who answers them unless a run says otherwise, as `--judge` takes it; None leaves them
    open."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Figures over parts of the items."""

    facets: Callable[[JSON], Mapping[str, str]] = lambda _: {}
    """From the gold: the groups that an item belongs to, such as ``{"depth": "3"}``. Figures can be
    shown by each of them. Items of one ``family`` are one cluster where errors are estimated."""
    totals: tuple[Total, ...] = ()
    """Figures over groups of episodes, or over several modes, as published tables have them."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """How agents have to be asked."""

    official: tuple[Condition, ...] = ()
    """What its published figures were made with; empty for nothing stated."""
    must_call: frozenset[str] = frozenset()
    """Modes in which the prompt asks for calls of tools: one that never does is a finding."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark's pure half."""

    name: str
    """As in ``--benchmark`` and in traces: small letters, digits and hyphens."""
    version: str
    """Raised when the same trace may score otherwise; results of another version are redone."""
    modes: tuple[str, ...]
    """Ways to ask; the first is the default."""
    measures: tuple[Measure, ...]
    """Its own, in the order of tables; one leads."""
    gold: Callable[[Item], JSON]
    """What scoring needs of an item; it goes into the trace, and no agent sees it."""
    score: Callable[[Trace, Answers], Values]
    """The values of a trace that has ended. Without an answer that it needs a value is None."""
    presentation: Presentation = Presentation()
    judging: Judging = Judging()
    grouping: Grouping = Grouping()
    conditions: Conditions = Conditions()

    def __post_init__(self) -> None:
        """Check what every reader relies on.

        Raises:
            ValueError: no mode, no leading measure, a measure under a name that is taken, or a
                mean or total of measures or modes that it has not.
        """
        leading(self.measures)
        if not self.modes:
            raise ValueError(f"the benchmark {self.name!r} has no mode; give at least one")
        own = {one.name for one in self.measures}
        if unknown := sorted({name for one in self.measures for name in one.mean_of} - own):
            raise ValueError(
                f"the benchmark {self.name!r} has a mean of measures that it has not: "
                f"{', '.join(unknown)}"
            )
        for total in self.grouping.totals:
            if unknown := sorted({*total.measures, *total.modes} - {*own, *self.modes}):
                raise ValueError(
                    f"the benchmark {self.name!r} has no measure or mode {', '.join(unknown)} for "
                    f"its total {total.name!r}"
                )
        names = [one.name for one in (*CONDUCT, *CODES, *self.measures)]
        if twice := sorted({one for one in names if names.count(one) > 1}):
            raise ValueError(
                f"the benchmark {self.name!r} has measures under names that are taken: "
                f"{', '.join(twice)}; give each a name of its own"
            )

    def settled(
        self, trace: Trace, said: Callable[[Question], JSON]
    ) -> tuple[Answers, Sequence[Question]]:
        """The answers that hold, by question, and the questions that are open for now.

        Args:
            trace: of an episode that has ended.
            said: the answer that is kept to a question; None for none.
        """
        asked, answers = self.asked(trace, said)
        return answers, [one for name, one in asked.items() if name not in answers]

    def asked(
        self, trace: Trace, said: Callable[[Question], JSON]
    ) -> tuple[Mapping[str, Question], Answers]:
        """All questions that the answers lead to, by their ids, and the answers that hold.

        Args:
            trace: of an episode that has ended.
            said: the answer that is kept to a question; None for none.
        """
        asked, answers = {one.id: one for one in self.judging.questions(trace)}, dict[str, JSON]()
        while True:
            asked |= {one.id: one for one in self.judging.follow_ups(trace, answers)}
            known = {name: said(one) for name, one in asked.items() if name not in answers}
            if not (new := {name: one for name, one in known.items() if one is not None}):
                return asked, answers
            answers |= new

    @property
    def title(self) -> str:
        """Its name in headings."""
        return self.presentation.title or self.name

    @property
    def lead(self) -> Measure:
        """The measure that it is about."""
        return leading(self.measures)

    @property
    def answer_measures(self) -> tuple[Measure, ...]:
        """Whether an answer is right, by each scorer: the leading measure first."""
        found = [m for m in self.measures if m.leads or (m.binary and m.scorer != Scorer.NEITHER)]
        return tuple(sorted(found, key=lambda measure: not measure.leads))

    def measure(self, name: str) -> Measure:
        """One of its own measures.

        Raises:
            KeyError: there is none of that name.
        """
        return {one.name: one for one in self.measures}[name]
