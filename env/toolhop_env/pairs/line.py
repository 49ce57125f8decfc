"""The figures of one comparison: a measure under two conditions over the same episodes.

A binary measure with one pair an item gets McNemar's exact test and Tango's interval. Everything
else gets a bootstrap over items and a permutation test that swaps whole items: epochs and modes
of one item are not independent.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolhop_env.benchmark import Benchmark
from toolhop_env.measures import CODES, CONDUCT, Measure, Unit
from toolhop_env.pairs.pair import Pair
from toolhop_env.score import Parts
from toolhop_env.statistics import bootstrap, paired, permutation
from toolhop_env.statistics.multiple import holm
from toolhop_env.statistics.shares import difference

Clustered: TypeAlias = dict[str, list[tuple[Parts, Parts]]]
"""By item the parts before and after of each of its pairs."""


class Method(StrEnum):
    """How a p-value or an interval was made."""

    MCNEMAR = "McNemar exact"
    PERMUTATION = "permutation"
    TANGO = "Tango score"
    BOOTSTRAP = "bootstrap"
    NONE = "none"
    """Too few items to resample, or all differ alike: an interval would claim too much."""


@dataclass(frozen=True, slots=True)
class Options:
    """How figures are made."""

    seed: int = 0
    resamples: int = 10_000
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class Line:
    """One measure under both conditions. Shares are 0 to 1."""

    measure: Measure
    items: int
    pairs: int
    """Those in which both sides have a figure."""
    before: float
    after: float
    difference: float
    """`after` - `before`."""
    low: float | None
    high: float | None
    interval: Method
    p_value: float
    test: Method
    gained: int | None = None
    """Discordant pairs in which the second side alone has the property; None for a measure that
    is not binary."""
    lost: int | None = None
    adjusted: float | None = None
    """The p-value after Holm's correction; None where it stands alone."""

    @property
    def mid_p(self) -> float | None:
        """McNemar's mid-p, where that test was used."""
        if self.test is not Method.MCNEMAR or self.gained is None or self.lost is None:
            return None
        return paired.mcnemar_mid_p(self.gained, self.lost)

    @property
    def detectable(self) -> float | None:
        """Minimum detectable difference (80 % power) of a binary measure.

        It is the smallest one that so many items, with so many discordant pairs, show at the
        0.05 level in four of five studies. None where there is none.
        """
        if self.gained is None or self.lost is None:
            return None
        found = _detectable(self.items, (self.gained + self.lost) / self.pairs)
        return found if math.isfinite(found) else None


@cache
def _detectable(items: int, discordant_share: float) -> float:
    # Asked for every group of every breakdown, of which many are alike.
    return paired.smallest_detectable(items, discordant_share)


def compared(benchmark: Benchmark) -> tuple[Measure, ...]:
    """What runs of a benchmark are compared in.

    Time is not: settings that change no result, such as the sandbox, change it.
    """
    conduct = (one for one in CONDUCT if one.unit is not Unit.SECONDS)
    return (*benchmark.measures, *conduct, *CODES)


def lines(measures: Sequence[Measure], pairs: Sequence[Pair], options: Options) -> list[Line]:
    """Every measure that these pairs have a figure for."""
    found = (line(measure, pairs, options) for measure in measures)
    return [one for one in found if one is not None]


def line(measure: Measure, pairs: Sequence[Pair], options: Options) -> Line | None:
    """One measure over the pairs in which both sides have a figure.

    None where there is no such pair, or nothing was counted: no call on a side, or an error code
    that neither side has.
    """
    values: Clustered = defaultdict(list)
    for pair in pairs:
        parts = pair.parts(measure)
        if parts is not None:
            values[pair.key.item].append(parts)
    sums = bootstrap.cluster_sums(values)
    total = sums.sum(axis=0)
    nothing = not measure.binary and not measure.leads and not total[0] and not total[2]
    if nothing or not total[1] or not total[3]:
        return None
    if measure.binary:
        return _binary(measure, values, options)
    return _ratio(measure, sum(map(len, values.values())), sums, options)


def corrected(found: Sequence[Line | None]) -> list[Line | None]:
    """The same with their p-values corrected for one another (Holm), in the same order."""
    values = iter(holm([one.p_value for one in found if one is not None]))
    return [None if one is None else replace(one, adjusted=next(values)) for one in found]


def _binary(measure: Measure, values: Clustered, options: Options) -> Line:
    shares = difference(
        {
            item: [(bool(before), bool(after)) for (before, _), (after, _) in group]
            for item, group in values.items()
        },
        seed=options.seed,
        resamples=options.resamples,
        confidence=options.confidence,
    )
    found = shares.found
    interval = Method.BOOTSTRAP if shares.resampled else Method.TANGO
    return Line(
        measure=measure,
        items=shares.items,
        pairs=found.n,
        before=found.before,
        after=found.after,
        difference=found.difference,
        low=shares.low,
        high=shares.high,
        interval=Method.NONE if shares.low is None else interval,
        p_value=shares.p_value,
        test=Method.MCNEMAR if shares.one_each else Method.PERMUTATION,
        gained=found.gained,
        lost=found.lost,
    )


def _ratio(measure: Measure, pairs: int, sums: NDArray[np.float64], options: Options) -> Line:
    limits = bootstrap.limits(
        sums, seed=options.seed, resamples=options.resamples, confidence=options.confidence
    )
    low, high = limits or (None, None)
    total = sums.sum(axis=0)
    before, after = float(total[0] / total[1]), float(total[2] / total[3])
    drawn = {"seed": options.seed, "resamples": options.resamples}
    if measure.unit is Unit.SHARE or (sums[:, 1] != sums[:, 3]).any():
        p_value = permutation.swap_sums(sums, **drawn)
    else:
        p_value = permutation.sign_flip((sums[:, 2] - sums[:, 0]).tolist(), **drawn)
    return Line(
        measure=measure,
        items=len(sums),
        pairs=pairs,
        before=before,
        after=after,
        difference=after - before,
        low=low,
        high=high,
        interval=Method.NONE if limits is None else Method.BOOTSTRAP,
        p_value=p_value,
        test=Method.PERMUTATION,
    )
