"""What the simulator knows about a benchmark: its gold, its measures, and how a trace is scored.

A benchmark is pure: it reads items and traces, and calls no model. Its binding
(`toolhop_agents.benchmarks`) says how an agent is prompted for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from toolhop_env.chain import Chain
from toolhop_env.measures import CODES, CONDUCT, Measure, Scorer, Total, leading
from toolhop_env.official import Condition
from toolhop_env.questions import Answers, Question
from toolhop_env.score import Values
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item


@dataclass(frozen=True, slots=True)
class Milestone:
    """A step towards the answer, and whether a trace reached it."""

    label: str
    """Name of the step, such as a hop's tool."""
    expected: str
    """What shows that the step was reached, such as a hop's gold answer; empty if nothing does."""
    reached: bool


def final_text(trace: Trace) -> str | None:
    """Return the whole reply that ended an answered episode; None if there is no such reply."""
    return trace.final_text


def _item_answer(gold: JSON) -> str:
    found = gold.get("answer", "") if isinstance(gold, dict) else gold
    return found if isinstance(found, str) else str(found)


@dataclass(frozen=True, slots=True)
class Presentation:
    """How a benchmark and its traces are shown to people."""

    title: str = ""
    """Name in headings; the benchmark's name if empty."""
    expected: Callable[[JSON], str] = _item_answer
    """Returns the gold answer as text, from `Benchmark.gold`."""
    given: Callable[[Trace], str | None] = final_text
    """Returns the agent's answer as scored; None if there is none."""
    milestones: Callable[[Trace], Sequence[Milestone]] = lambda _: ()
    """Returns the steps towards the answer, each reached or not."""
    milestone: str = "milestone"
    """Word for a milestone of this benchmark, in the singular."""
    categories: tuple[str, ...] = ()
    """Measures that count kinds of error, as the benchmark's paper does; shown beside the kinds of
    divergences."""
    explain_gap: Callable[[Trace], str | None] = lambda _: None
    """Returns a short reason why two answer measures differ on a trace; None if they agree, or
    if the benchmark cannot tell. The diagnosis groups episodes by this reason."""


@dataclass(frozen=True, slots=True)
class Judging:
    """Questions that scoring cannot decide by itself."""

    questions: Callable[[Trace], Sequence[Question]] = lambda _: ()
    """Returns the judge's questions about a trace that has ended."""
    follow_ups: Callable[[Trace, Answers], Sequence[Question]] = lambda _, __: ()
    """Returns further questions that depend on the answers so far; called until none are new."""
    judge: str | None = None
    """Default judge, in the form that `--judge` accepts; None leaves the questions open."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """How figures are broken down and combined."""

    facets: Callable[[JSON], Mapping[str, str]] = lambda _: {}
    """Returns the groups that an item belongs to, such as ``{"depth": "3"}``, from its gold.
    Figures can be broken down by each. Items of one ``family`` form one cluster when errors are
    estimated."""
    totals: tuple[Total, ...] = ()
    """Figures over groups of episodes or over several modes, as in the published tables."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Settings under which agents are to be evaluated."""

    official: tuple[Condition, ...] = ()
    """Settings of the published figures; empty if none are stated."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The part of a benchmark that scores traces; it never calls a model."""

    name: str
    """Name as in ``--benchmark`` and in traces: lower-case letters, digits and hyphens."""
    version: str
    """Changed whenever the same trace may score differently; results of other versions are
    recomputed."""
    modes: tuple[str, ...]
    """Ways to put an item to an agent; the first is the default."""
    measures: tuple[Measure, ...]
    """The benchmark's own measures, in table order; exactly one of them leads."""
    gold: Callable[[Item], JSON]
    """Returns what scoring needs from an item; stored in the trace and never shown to an agent."""
    score: Callable[[Trace, Answers], Values]
    """Returns the values of a trace that has ended; None for values that lack a judge's answer."""
    presentation: Presentation = Presentation()
    judging: Judging = Judging()
    grouping: Grouping = Grouping()
    conditions: Conditions = Conditions()
    chain: Callable[[Trace, Answers], Chain | None] = lambda _, __: None
    """Returns what divergences are found against, for a trace that has ended; None if the gold is
    no chain of tool calls."""

    def __post_init__(self) -> None:
        """Check the invariants that every reader relies on.

        Raises:
            ValueError: there is no mode or no leading measure, a measure's name is taken, or a mean
                or total refers to an unknown measure or mode.
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
        """Return the answers so far, by question id, and the questions still open.

        Args:
            trace: trace of an episode that has ended.
            said: returns the stored answer to a question; None if there is none.
        """
        asked, answers = self.asked(trace, said)
        return answers, [one for name, one in asked.items() if name not in answers]

    def asked(
        self, trace: Trace, said: Callable[[Question], JSON]
    ) -> tuple[Mapping[str, Question], Answers]:
        """Return all questions reached so far, by id, and the stored answers to them.

        Args:
            trace: trace of an episode that has ended.
            said: returns the stored answer to a question; None if there is none.
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
        """The benchmark's name in headings."""
        return self.presentation.title or self.name

    @property
    def lead(self) -> Measure:
        """The benchmark's leading measure."""
        return leading(self.measures)

    @property
    def answer_measures(self) -> tuple[Measure, ...]:
        """The scorers' measures of whether an answer is right, the leading one first."""
        found = [m for m in self.measures if m.leads or (m.binary and m.scorer != Scorer.NEITHER)]
        return tuple(sorted(found, key=lambda measure: not measure.leads))

    def measure(self, name: str) -> Measure:
        """Return the benchmark's measure of this name.

        Raises:
            KeyError: the benchmark has no such measure.
        """
        return {one.name: one for one in self.measures}[name]
