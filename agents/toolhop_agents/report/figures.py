"""Figures of a report as plain values: measures, summaries by run, and calls by milestone."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import astuple, dataclass, field

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.estimates import Estimate, Totals
from toolhop_env.facets import in_order
from toolhop_env.measures import Measure
from toolhop_env.summary import Group, Summary, Summing
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON

GROUP_KEY = ("run", "benchmark", "agent", "mode", "level", "call_format")
"""Fields that identify a group: one run's episodes of one agent, mode and so on."""


@dataclass(frozen=True, slots=True)
class Played:
    """The parts of an episode that figures need, so that its trace can be released."""

    attempt: Attempt
    calls: tuple[tuple[int | None, bool], ...]
    """For each call, the milestone (from 0) whose tool it used, if any, and whether it failed."""


def played(trace: Trace, attempt: Attempt) -> Played:
    """Extract from a trace what figures need."""
    most = len(attempt.milestones)
    return Played(
        attempt,
        tuple(
            (call.hop if call.hop is not None and call.hop < most else None, call.error is not None)
            for call in trace.tool_calls
        ),
    )


def benchmark_part(benchmark: Benchmark) -> JSON:
    """Return a benchmark's description for the page, which defines no measures itself."""
    return {
        "title": benchmark.title,
        "milestone": benchmark.presentation.milestone,
        "lead": benchmark.lead.name,
        "categories": list(benchmark.presentation.categories),
        "answers": [one.name for one in benchmark.answer_measures],
        "measures": [measure_part(one) for one in benchmark.measures],
        "totals": {one.name: one.says for one in benchmark.grouping.totals},
    }


def measure_part(measure: Measure) -> JSON:
    """Return a measure's description, without its code."""
    return {
        "name": measure.name,
        "heading": measure.heading,
        "says": measure.says,
        "unit": str(measure.unit),
        "binary": measure.binary,
        "in_tables": measure.in_tables,
    }


class RunFigures:
    """The figures of one run, updated one episode at a time.

    Unfinished episodes are counted but enter no figure: an active run always has some, and they are
    not faults.
    """

    def __init__(self, run: int) -> None:
        self._run = run
        self._sums = Summing()
        self._steps: dict[Group, Milestones] = defaultdict(Milestones)
        self._open: Counter[Group] = Counter()

    def add(self, one: Played, rank: int) -> None:
        """Add an episode that counts; `rank` is its position among the run's episodes."""
        self._sums.add(one.attempt, (rank, 0, ""))
        self._steps[Group.of(one.attempt)].add(one)

    def add_unfinished(self, one: Attempt) -> None:
        """Add an episode that has not ended."""
        self._open[Group.of(one)] += 1

    def groups(self) -> list[dict[str, JSON]]:
        """Return the run's table rows, in order of appearance."""
        summaries = {one.group: one for one in self._sums.summaries()}
        return [
            {
                "run": self._run,
                "benchmark": group.benchmark,
                "agent": group.agent,
                "mode": group.mode,
                "level": str(group.feedback),
                "call_format": str(group.call_format),
                "unfinished": self._open[group],
                **self._steps[group].plain(),
                "facets": self._by_facet(group),
                **_summary(summaries.get(group)),
                "totals": _totals(summaries.get(group)),
            }
            for group in dict.fromkeys([*summaries, *self._open])
        ]

    def _by_facet(self, group: Group) -> dict[str, JSON]:
        """Return the figures of each value of each facet, with the values in order."""
        return {
            facet: [
                {"value": one.group.part, **_summary(one)}
                for one in sorted(parts, key=lambda one: in_order(one.group.part))
            ]
            for facet, parts in self._sums.by_facet(group).items()
        }


@dataclass
class Milestones:
    """Calls by milestone, with the numbers of episodes that have and that reached each
    milestone.
    """

    episodes: int = 0
    calls: Counter[tuple[int | None, bool]] = field(default_factory=Counter)
    having: Counter[int] = field(default_factory=Counter)
    reached: Counter[int] = field(default_factory=Counter)

    def add(self, one: Played) -> None:
        """Add an episode."""
        self.episodes += 1
        self.calls.update(one.calls)
        for place, reached in enumerate(one.attempt.milestones):
            self.having[place] += 1
            self.reached[place] += reached

    def plain(self) -> dict[str, JSON]:
        """Return per milestone [episodes that have it, calls, failed calls, episodes that
        reached it].
        """
        rows: list[JSON] = [
            [self.having[place], sum(self._of(place)), self._of(place)[1], self.reached[place]]
            for place in sorted(self.having)
        ]
        other = self._of(None)
        return {"milestones": rows, "other": [self.episodes, sum(other), other[1], 0]}

    def _of(self, place: int | None) -> tuple[int, int]:
        return self.calls[place, False], self.calls[place, True]


def _summary(one: Summary | None) -> dict[str, JSON]:
    if one is None:
        return {"episodes": 0, "errored": 0, "figures": {}, "errors": {}}
    return {
        "episodes": one.episodes,
        "errored": one.errored,
        "figures": {name: estimate(found) for name, found in one.figures.items()},
        "errors": {str(code): count for code, count in one.errors.items()},
        "tokens": [one.spent.input_tokens, one.spent.output_tokens],
        "cost": one.spent.cost_usd,
        "retries": one.spent.requests - one.spent.replies,
    }


def _totals(one: Summary | None) -> JSON:
    """Return the totals of the group's agent over all modes, the same for each mode's group."""
    found: Totals = {} if one is None else one.totals
    return {
        total: {name: estimate(figure) for name, figure in by_measure.items()}
        for total, by_measure in found.items()
    }


def estimate(value: Estimate | None) -> JSON:
    """Return an estimate as [value, standard error, count, low, high]; only shares have limits."""
    return None if value is None else list(astuple(value))
