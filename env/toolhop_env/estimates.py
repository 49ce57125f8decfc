"""Figures over many scores, with standard errors and, for shares, 95 % intervals.

Episodes of one item (its epochs, its modes) are not independent, nor are items of one family, so
errors are clustered by item or family (`Attempt.cluster`). With m clusters, the standard error of a
ratio of sums R = sum(y) / sum(x) is sqrt(m / (m - 1) * sum((y_i - R x_i)^2)) / sum(x), where i runs
over clusters. For one episode per item and x = 1 this is the usual standard error of a mean. The
interval of a share is Wilson's (`toolhop_env.statistics.wilson`), which has a width at 0 and 100 %
too.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.measures import Measure, Total, Unit
from toolhop_env.score import Parts, Score
from toolhop_env.statistics import wilson
from toolhop_env.sums import ItemSums, sums_of


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share or mean with its standard error."""

    value: float
    stderr: float | None
    """Standard error; None for fewer than two clusters."""
    count: int
    """Number of episodes, calls or hops in the denominator."""
    low: float | None = None
    """Lower limit of the 95 % interval of a share; None for other figures."""
    high: float | None = None


Sums: TypeAlias = Mapping[str, Parts]
"""Numerator and denominator by cluster."""
Totals: TypeAlias = Mapping[str, Mapping[str, Estimate | None]]
"""Estimates by total, then by measure."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A figure with each cluster's contribution to its error, to first order."""

    value: float
    shares: Mapping[str, float]
    count: int
    least: float
    """Effective number of trials if all episodes of a cluster agree."""
    most: float
    """Effective number of trials if all episodes are independent."""

    def estimate(self, measure: Measure) -> Estimate:
        """Return the figure with its standard error and, for a share, its interval."""
        error = standard_error(self.shares.values())
        if measure.unit is not Unit.SHARE:
            return Estimate(self.value, error, self.count)
        limits = wilson.clustered(self.value, error, least=self.least, most=self.most)
        return Estimate(self.value, error, self.count, *limits)


def standard_error(shares: Iterable[float]) -> float | None:
    """Return the standard error from the clusters' contributions; None for fewer than two."""
    squares = [one**2 for one in shares]
    if len(squares) < 2:
        return None
    return math.sqrt(len(squares) / (len(squares) - 1) * math.fsum(squares))


def figures(
    measures: Sequence[Measure], scores: Sequence[tuple[str, Score]]
) -> dict[str, Estimate | None]:
    """Return each measure's estimate over pairs of cluster and score; None if nothing was counted.

    Sums are exact until the final rounding (`math.fsum`), so the order in which episodes end
    changes no figure. Episodes without a value are left out.
    """
    return _figures(measures, lambda measure: _sums(measure, scores))


def figures_of(
    measures: Sequence[Measure], items: Sequence[ItemSums]
) -> dict[str, Estimate | None]:
    """Return each measure's estimate over per-item sums; None if nothing was counted."""
    return _figures(measures, lambda measure: _sums_of(measure, items))


def _figures(
    measures: Sequence[Measure], sums: Callable[[Measure], Sums]
) -> dict[str, Estimate | None]:
    named = {one.name: one for one in measures}
    found: dict[str, Estimate | None] = {}
    for one in measures:  # one at a time: all sums of many items would take too much memory
        mean = _mean([sums(named[name]) for name in one.mean_of or (one.name,)])
        nothing = Estimate(0.0, None, 0) if one.zero and sums(one) else None
        found[one.name] = mean.estimate(one) if mean else nothing
    return found


def totals(benchmark: Benchmark, attempts: Iterable[Attempt]) -> Totals:
    """Return the benchmark's totals over attempts of one agent, leaving out totals without figures.

    Args:
        benchmark: the attempts' benchmark.
        attempts: attempts in all modes; errored ones are ignored.
    """
    return totals_of(benchmark, sums_of(attempts))


def totals_of(benchmark: Benchmark, items: Sequence[ItemSums]) -> Totals:
    """Return the benchmark's totals over per-item sums, leaving out totals without figures."""
    found = {
        total.name: {
            name: linear.estimate(benchmark.measure(name)) if linear else None
            for name, linear in _linear_total(benchmark, total, items)
        }
        for total in benchmark.grouping.totals
    }
    return {name: one for name, one in found.items() if any(one.values())}


def linear_total(
    benchmark: Benchmark, total: Total, attempts: Iterable[Attempt]
) -> Iterator[tuple[str, Linear | None]]:
    """Yield each measure of a total with its figure.

    The figure is None if one of the total's modes, or a value of its facet, has none.
    """
    return _linear_total(benchmark, total, sums_of(attempts))


def _linear_total(
    benchmark: Benchmark, total: Total, items: Sequence[ItemSums]
) -> Iterator[tuple[str, Linear | None]]:
    these = [one for one in items if one.scored and total.takes(one.mode, one.facets)]
    values = {one.facets.get(total.over, "") for one in these}
    for measure in (benchmark.measure(name) for name in total.measures):
        parts: dict[str, list[ItemSums]] = defaultdict(list)
        modes = set()
        for one in these:
            if one.parts(measure)[1]:
                parts[one.facets.get(total.over, "")].append(one)
                modes.add(one.mode)
        whole = parts and parts.keys() >= values and modes >= set(total.modes)
        linear = _mean([_sums_of(measure, group) for group in parts.values()]) if whole else None
        yield measure.name, linear


def _sums(measure: Measure, scores: Iterable[tuple[str, Score]]) -> Sums:
    parts: dict[str, list[Parts]] = defaultdict(list)
    for item, one in scores:
        found = measure.of(one)
        if found is not None and (found[1] or measure.zero):
            parts[item].append(found)
    return {
        item: (math.fsum(y for y, _ in group), math.fsum(x for _, x in group))
        for item, group in parts.items()
    }


def _sums_of(measure: Measure, items: Iterable[ItemSums]) -> Sums:
    parts: dict[str, tuple[list[float], list[float]]] = {}
    for one in items:
        above, below = one.parts(measure)
        if below:
            cluster = parts.setdefault(one.cluster, ([], []))
            cluster[0].extend(above)
            cluster[1].extend(below)
    return {name: (math.fsum(ys), math.fsum(xs)) for name, (ys, xs) in parts.items()}


def _mean(ratios: Sequence[Sums]) -> Linear | None:
    """Return the mean of ratios of sums; None if any denominator is zero.

    The contribution of a cluster i is the mean over the ratios of (y_i - R x_i) / sum(x).
    """
    totals = [math.fsum(x for _, x in sums.values()) for sums in ratios]
    if not all(totals):
        return None
    values = [
        math.fsum(y for y, _ in sums.values()) / total
        for sums, total in zip(ratios, totals, strict=True)
    ]
    shares = {
        item: math.fsum(
            (sums[item][0] - value * sums[item][1]) / total
            for sums, value, total in zip(ratios, values, totals, strict=True)
            if item in sums
        )
        / len(ratios)
        for item in dict.fromkeys(item for sums in ratios for item, (_, x) in sums.items() if x)
    }
    weights = (
        math.fsum(sums[item][1] / total for sums, total in zip(ratios, totals, strict=True)
                  if item in sums) / len(ratios)
        for item in shares
    )  # fmt: skip
    return Linear(
        math.fsum(values) / len(values),
        shares,
        round(min(totals)),
        least=1 / math.fsum(one**2 for one in weights),
        most=len(ratios) ** 2 / math.fsum(1 / total for total in totals),
    )
