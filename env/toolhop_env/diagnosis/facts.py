"""What a diagnosis keeps of a trace, small enough for whole runs to fit in memory."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from toolhop_env.attempt import Attempt, counting
from toolhop_env.benchmark import Benchmark, Milestone
from toolhop_env.benchmarks import named
from toolhop_env.measures import Measure
from toolhop_env.score import Conduct, Score, has_repair, holds_answer
from toolhop_env.spending import Spent
from toolhop_env.trace import Called, Trace
from toolhop_env.verdicts import BEFORE_RUNNING, ErrorCode

ORACLE = "oracle"
NOTHING = Spent()
NO_FACETS: Mapping[str, str] = MappingProxyType({})
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A tool call."""

    tool: str
    arguments: str
    """Short digest of the arguments' text."""
    error: ErrorCode | None
    repaired: bool
    """Whether the call was rejected although a lenient parser would have accepted it."""

    @property
    def ran(self) -> bool:
        """Whether the tool was run."""
        return self.error not in BEFORE_RUNNING


@dataclass(frozen=True, slots=True)
class Seen:
    """A finished attempt, and what only the diagnosis needs from its trace."""

    attempt: Attempt
    name: str
    """Name of the episode, prefixed with the run's name if there are several runs."""
    item: str
    """Id of the item, followed by part of its digest if the runs have two versions of it."""
    gold: str
    """Gold answer as text; empty if the benchmark has none."""
    milestones: tuple[Milestone, ...]
    returned: frozenset[int]
    """Indices of the milestones whose `expected` some tool returned, whichever tool it was."""
    calls: tuple[SeenCall, ...]
    answer: str | None
    """The agent's answer, as scored; None if there is none."""
    gap: str | None
    """Why the benchmark's answer measures differ on this attempt; None if they agree."""
    tools: bool
    """Whether tools were on offer."""
    counts: bool = True
    """Whether the run's figures include this attempt."""
    left: bool = False
    """Whether another attempt resumes from this one, so that being unfinished is not a fault."""

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark whose measures score the attempt."""
        return named(self.attempt.benchmark)

    @property
    def solved(self) -> bool:
        """Whether the leading measure gives the attempt any credit."""
        return self.has(self.benchmark.lead)

    def has(self, measure: Measure) -> bool:
        """Whether the attempt has a score with the measure's property."""
        score = self.attempt.score
        return score is not None and measure.holds(score)

    @property
    def baseline(self) -> bool:
        """Whether the agent is a baseline, whose failures mean nothing."""
        return is_baseline(self.attempt.agent)

    @property
    def by_oracle(self) -> bool:
        """Whether the oracle played with tools, so that a single try is conclusive."""
        return self.attempt.agent == ORACLE and self.tools


def is_baseline(agent: str) -> bool:
    """Whether an agent answers without looking at the question."""
    return agent == "do-nothing" or agent.startswith("constant:")


class Same:
    """Replaces equal values by one object, as most values repeat over the epochs of an item."""

    def __init__(self) -> None:
        self._known: dict[object, Any] = {}

    def __call__(self, value: T) -> T:
        """Return the first object seen that equals a hashable value."""
        found: T = self._known.setdefault((type(value), value), value)
        return found

    def score(self, one: Score, benchmark: Benchmark) -> Score:
        """Return the part of a score that checks read; time and cost of the conduct are dropped."""
        if any(measure.parts is not None for measure in benchmark.answer_measures):
            return one  # these measures may use any part of the score
        went = one.conduct
        seen = Conduct(
            went.ending, went.turns, went.calls, went.errors, went.repairable,
            input_tokens=0, output_tokens=0, cost_usd=None, wall_s=0.0, tool_s=0.0, retries=0,
            cut_replies=went.cut_replies, repeated_failures=went.repeated_failures,
            tools_unseen=went.tools_unseen,
        )  # fmt: skip
        key = (
            *one.values.items(), went.ending, went.turns, went.calls, *went.errors.items(),
            went.repairable, went.cut_replies, went.repeated_failures, went.tools_unseen,
        )  # fmt: skip
        found: Score = self._known.setdefault(key, Score(seen, one.values))
        return found


def seen_in(run: str, scored: Iterable[tuple[Trace, Attempt]], same: Same) -> Iterator[Seen]:
    """Yield the finished attempts of one run; `run`, unless empty, is prefixed to their names."""
    found = [_seen(run, trace, one, same) for trace, one in scored if trace.ended is not None]
    counted = {one.episode for one in counting(seen.attempt for seen in found)}
    parents = {one.attempt.parent for one in found}
    for one in found:
        name = one.attempt.episode
        yield replace(one, counts=name in counted, left=name in parents)


def distinct(seen: Sequence[Seen]) -> list[Seen]:
    """Rename items so that each id means one item: two versions of an item get two names."""
    versions: dict[str, set[str]] = defaultdict(set)
    for one in seen:
        versions[one.item].add(one.attempt.item_digest)
    return [
        replace(one, item=f"{one.item} ({one.attempt.item_digest[:8]})")
        if len(versions[one.item]) > 1
        else one
        for one in seen
    ]


def _seen(run: str, trace: Trace, attempt: Attempt, same: Same) -> Seen:
    start, calls = trace.started, trace.tool_calls
    shown = named(start.benchmark).presentation
    gold, milestones = shown.expected(start.gold), tuple(shown.milestones(trace))
    returned = frozenset(
        place
        for place, one in enumerate(milestones)
        if one.expected and any(holds_answer(call, one.expected) for call in calls)
    )
    return Seen(
        attempt=_small(attempt, same),
        name=f"{run}/{start.episode}" if run else attempt.episode,
        item=same(start.item),
        gold=same(gold),
        milestones=same(milestones),
        returned=same(returned),
        calls=same(tuple(_call(call) for call in calls)),
        answer=same(shown.given(trace)),
        gap=shown.explain_gap(trace),
        tools=bool(start.tools),
    )


def _small(one: Attempt, same: Same) -> Attempt:
    """Return an attempt without the fields that no check reads."""
    score = one.score
    verdict = same.score(score, named(one.benchmark)) if score else one.verdict
    return replace(
        one,
        item=same(one.item),
        item_digest=same(one.item_digest),
        agent=same(one.agent),
        mode=same(one.mode),
        benchmark=same(one.benchmark),
        perturbation=same(one.perturbation),
        milestones=same(one.milestones),
        judge=same(one.judge),
        verdict=verdict,
        spent=NOTHING,
        failure=None,
        facets=NO_FACETS,
        file="",
        place=None,
    )


def _call(call: Called) -> SeenCall:
    text = hashlib.sha256(call.raw.arguments.encode()).hexdigest()[:12]
    return SeenCall(call.raw.name, text, call.error, has_repair(call))
