"""Aggregation of attempts into the figures of a report, with standard errors.

Errored episodes are counted, but excluded from every mean.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.estimates import Estimate, Totals, figures_of, totals_of
from toolhop_env.facets import UNKNOWN
from toolhop_env.levels import Verbosity
from toolhop_env.measures import CONDUCT, DIVERGENCES
from toolhop_env.reading import CallFormat
from toolhop_env.spending import Spent
from toolhop_env.statistics.passing import KINDS, PassRate, over_items, usual_ks
from toolhop_env.sums import ItemSums, Rank, add, in_order, in_run
from toolhop_env.trace import Ending
from toolhop_env.verdicts import ErrorCode


@dataclass(frozen=True, slots=True)
class Group:
    """What the episodes of one summary have in common."""

    benchmark: str
    agent: str
    mode: str
    feedback: Verbosity
    call_format: CallFormat
    perturbation: str = "as-is"
    part: str = ""
    """Value of the facet by which episodes are grouped; empty if they are not."""
    judge: str = ""
    """Judge whose answers the figures use; answers of several judges are never pooled."""
    treatment: str = ""
    """Treatment of results and phrasing of the prompt (`Attempt.treatment`)."""

    @classmethod
    def of(cls, one: Attempt, part: str = "") -> Group:
        """Return the group that an attempt belongs to."""
        return cls(
            one.benchmark, one.agent, one.mode, one.feedback, one.call_format,
            one.perturbation, part, one.judge, one.treatment,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one group of episodes."""

    group: Group
    episodes: int
    errored: int
    figures: Mapping[str, Estimate | None]
    """Estimates by measure: the benchmark's measures in their order, those of conduct, then first
    divergences that some episode has."""
    errors: Mapping[ErrorCode, int]
    endings: Mapping[Ending, int]
    spent: Spent
    """Total spending of the scored episodes, including turns of a resumed prefix."""
    proven: int | None = None
    """Number of scored episodes of items proven by certificates; None if nothing is known."""
    no_official: int = 0
    """Number of scored episodes without any official figure, if the benchmark has such measures."""
    no_reply: int = 0
    """Number of scored episodes with no reply, for example items missing from an answer file."""
    figures_proven: Mapping[str, Estimate | None] = field(default_factory=dict)
    """Estimates of the answer measures over the proven items."""
    passes: Mapping[str, Mapping[str, Sequence[PassRate]]] = field(default_factory=dict)
    """Pass rates by k, for each binary answer measure and kind (pass@k, pass^k). Empty if no
    item was tried twice."""
    totals: Totals = field(default_factory=dict)
    """Totals of the agent over all its modes; the same in each mode's summary."""

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark that defines these measures."""
        return named(self.group.benchmark)


class Summing:
    """Streaming aggregation: add attempts one at a time; only per-item sums are stored."""

    def __init__(self) -> None:
        self._groups: dict[Group, dict[tuple[object, ...], ItemSums]] = defaultdict(dict)

    def add(self, one: Attempt, rank: Rank, part: str = "") -> None:
        """Add an attempt. Every attempt counts: reduce them first (`toolhop_env.attempt.counting`).

        Args:
            one: the attempt.
            rank: position of the attempt; groups appear in the order of their first attempts.
            part: value by which its group is split further.
        """
        add(self._groups[Group.of(one, part)], one, rank)

    def summaries(self) -> list[Summary]:
        """Return a summary for each group of attempts."""
        groups = {name: [*items.values()] for name, items in self._groups.items()}
        whole: dict[Group, list[ItemSums]] = defaultdict(list)
        for name, items in groups.items():
            whole[replace(name, mode="")] += items
        found = {name: totals_of(named(name.benchmark), items) for name, items in whole.items()}
        return [
            replace(_summary(name, items), totals=found[replace(name, mode="")])
            for name, items in _by_rank(groups)
        ]

    def by_facet(self, group: Group) -> dict[str, list[Summary]]:
        """Return the summaries of one group by facet, one for each value that its items have.

        They have no totals.
        """
        items = [*self._groups.get(group, {}).values()]
        found: dict[str, list[Summary]] = {}
        for facet in dict.fromkeys(name for one in items for name in one.facets):
            parts: dict[Group, list[ItemSums]] = defaultdict(list)
            for one in items:
                parts[replace(group, part=one.facets.get(facet, UNKNOWN))].append(one)
            found[facet] = [_summary(name, of_part) for name, of_part in _by_rank(parts)]
        return found


def _by_rank(groups: Mapping[Group, list[ItemSums]]) -> list[tuple[Group, list[ItemSums]]]:
    """Sort groups by their first attempts, and likewise the items of each."""
    ordered = [(name, sorted(items, key=lambda one: one.first)) for name, items in groups.items()]
    return sorted(ordered, key=lambda group: group[1][0].first)


def summarize(
    attempts: Iterable[Attempt], part: Callable[[Attempt], str] = lambda _: ""
) -> list[Summary]:
    """Return a summary per benchmark, agent, mode, feedback, call format, perturbation, judge and
    treatment.

    Summaries are in order of appearance. Every attempt counts: reduce them first
    (`toolhop_env.attempt.counting`).

    Args:
        attempts: the attempts to summarize.
        part: returns a value by which attempts are split further.
    """
    found = Summing()
    for number, one in enumerate(attempts):
        found.add(one, (number, 0, ""), part(one))
    return found.summaries()


def summarize_run(attempts: Iterable[Attempt]) -> list[Summary]:
    """Summarize the attempts of one run, in the order of their numbers and files.

    The order of groups thus does not depend on which traces are packed.
    """
    found = Summing()
    for one in attempts:
        found.add(one, in_run(one))
    return found.summaries()


def _summary(name: Group, items: Sequence[ItemSums]) -> Summary:
    benchmark = named(name.benchmark)
    certain = {one.item for one in items if one.proven}
    proven = [one for one in items if one.item in certain]
    of_proven = figures_of(benchmark.measures, proven)
    figures = figures_of((*benchmark.measures, *CONDUCT), items)
    diverged = figures_of(DIVERGENCES, items)
    figures |= {name: found for name, found in diverged.items() if found and found.value}
    attempts, scored = sum(one.attempts for one in items), sum(one.scored for one in items)
    return Summary(
        group=name,
        episodes=attempts,
        errored=attempts - scored,
        figures=figures,
        errors=in_order(one.errors for one in items),
        endings=in_order(one.endings for one in items),
        proven=sum(one.scored for one in proven) if any(one.certified for one in items) else None,
        no_official=sum(one.no_official for one in items),
        passes=_passes(benchmark, items),
        no_reply=sum(one.no_reply for one in items),
        figures_proven={m.name: of_proven[m.name] for m in benchmark.answer_measures},
        spent=replace(
            sum((one.tokens() for one in items), Spent()),
            cost_usd=_total(one.costs for one in items),
            saved_usd=_total(one.saved for one in items),
        ),
    )


def _passes(
    benchmark: Benchmark, items: Sequence[ItemSums]
) -> dict[str, dict[str, list[PassRate]]]:
    """Return the pass rates over items, each with all its scored tries."""
    found: dict[str, dict[str, list[PassRate]]] = {}
    for measure in benchmark.answer_measures:
        tried: dict[str, tuple[int, int]] = {}
        for one in items if measure.binary else ():
            tries, right = one.tries(measure)
            before = tried.get(one.item, (0, 0))
            tried[one.item] = before[0] + tries, before[1] + right
        counts = [(tries, right) for tries, right in tried.values() if tries]
        ks = usual_ks(max((tries for tries, _ in counts), default=0))
        if ks:
            found[measure.name] = {
                kind: [rate for k in ks if (rate := over_items(counts, k, estimate)) is not None]
                for kind, estimate in KINDS.items()
            }
    return found


def _total(prices: Iterable[list[float] | None]) -> float | None:
    """Return the sum of all prices, independent of their order; None if any is unknown."""
    given = list(prices)
    known = [price for some in given if some is not None for price in some]
    return None if None in given else math.fsum(known)
