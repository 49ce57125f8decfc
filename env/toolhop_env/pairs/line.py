"""The figures of one comparison: a measure under two conditions over the same episodes.

A binary measure with one pair an item gets McNemar's exact test and Tango's interval. Everything
else gets a bootstrap over items and a permutation test that swaps whole items: epochs and modes
of one item are not independent. A binary measure that tables show as the mean of others (balanced
accuracy) is compared as that mean, where every pair is in the same one of them on both sides.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
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
"""By item or family (`Attempt.cluster`) the parts before and after of each of its pairs."""


class Method(StrEnum):
    """How a p-value or an interval was made."""

    MCNEMAR = "McNemar exact"
    PERMUTATION = "permutation"
    TANGO = "Tango score"
    BOOTSTRAP = "bootstrap"
    NONE = "none"
    """Too few items to resample, or all differ alike: an interval would claim too much. Or the
    measure is not tested."""


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
    """Or families of items (`Attempt.cluster`)."""
    pairs: int
    """Those in which both sides have a figure."""
    before: float
    after: float
    counts: tuple[Parts, Parts]
    """The sums that `before` and `after` are made of: numerator and denominator of each. Of a
    balanced line the means themselves, over 1."""
    difference: float
    """`after` - `before`."""
    low: float | None
    high: float | None
    interval: Method
    p_value: float | None
    """None for a measure that is described and not tested."""
    test: Method
    gained: int | None = None
    """Discordant pairs in which the second side alone has the property; None for a measure that
    is not binary."""
    lost: int | None = None
    balanced: bool = False
    """Whether `before` and `after` are means over `Measure.mean_of`, each with the same weight;
    `gained` and `lost` count pairs all the same."""
    adjusted: float | None = None
    """The p-value after Holm's correction; None where it stands alone."""

    def disagreement(self, confidence: float) -> str:
        """Why the interval and the p-value seem to contradict each other; empty where they agree.

        They do where the interval of `confidence` has 0 and p is at most 1 - `confidence`, or
        where neither holds. The p-value is the corrected one where there is one.
        """
        if self.low is None or self.high is None or self.p_value is None:
            return ""
        level = 1 - confidence
        holds_0 = self.low <= 0 <= self.high
        if holds_0 == (self.p_value > level):
            if holds_0 or self.adjusted is None or self.adjusted <= level:
                return ""
            return (
                f"the interval leaves out 0 and the corrected p is above {level:.2g}: the interval "
                "stands for one test alone, and is not corrected. The corrected p decides."
            )
        seen = "has 0" if holds_0 else "leaves out 0"
        against = f"the interval {seen} and p is {'at most' if holds_0 else 'above'} {level:.2g}: "
        return against + _APART[self.interval is Method.TANGO]

    @property
    def heading(self) -> str:
        """What a table calls it."""
        return f"{self.measure.heading}, balanced" if self.balanced else self.measure.heading

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
        if self.gained is None or self.lost is None or self.balanced:
            return None
        found = _detectable(self.items, (self.gained + self.lost) / self.pairs)
        return found if math.isfinite(found) else None


_APART = {
    True: "Tango's interval belongs to a score test, the p-value to an exact one, which is more "
    "cautious; at the margin they part. The exact test decides.",
    False: "the bootstrap draws items as they differ, the test swaps them as if they did not; with "
    "few or skewed items they part at the margin. The test decides.",
}
"""Why an interval and a test may part, by whether the interval is Tango's."""


def disagreements(found: Iterable[tuple[str, Line]], confidence: float) -> dict[str, Sequence[str]]:
    """By reason the names of the lines whose interval seems to contradict their p-value."""
    named: dict[str, list[str]] = defaultdict(list)
    for name, one in found:
        if reason := one.disagreement(confidence):
            named[reason].append(name)
    return {reason: list(dict.fromkeys(names)) for reason, names in named.items()}


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
            values[pair.cluster].append(parts)
    sums = bootstrap.cluster_sums(values)
    total = sums.sum(axis=0)
    nothing = not measure.binary and not measure.leads and not total[0] and not total[2]
    if nothing or not total[1] or not total[3]:
        return None
    if measure.binary:
        plain, by_part = _binary(measure, values, options), _by_part(measure, pairs)
        return plain if by_part is None else _balanced(plain, by_part, options)
    return _ratio(measure, sum(map(len, values.values())), sums, options)


def corrected(found: Sequence[Line | None]) -> list[Line | None]:
    """The same with their p-values corrected for one another (Holm), in the same order."""
    tested = [one for one in found if one is not None and one.p_value is not None]
    values = iter(holm([one.p_value for one in tested if one.p_value is not None]))
    return [
        one if one is None or one.p_value is None else replace(one, adjusted=next(values))
        for one in found
    ]


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
        counts=(
            (round(found.before * found.n), found.n),
            (round(found.after * found.n), found.n),
        ),
        difference=found.difference,
        low=shares.low,
        high=shares.high,
        interval=Method.NONE if shares.low is None else interval,
        p_value=shares.p_value,
        test=Method.MCNEMAR if shares.one_each else Method.PERMUTATION,
        gained=found.gained,
        lost=found.lost,
    )


def _by_part(measure: Measure, pairs: Sequence[Pair]) -> NDArray[np.float64] | None:
    """By cluster and part of a mean the sums before and after (`bootstrap.cluster_sums`).

    None for no mean, or where a pair is in another part on either side, or a part has no pair.
    """
    if not measure.mean_of:
        return None
    rows: dict[str, list[list[Parts]]] = defaultdict(list)
    for pair in pairs:
        if pair.parts(measure) is None:
            continue
        sides = [
            [side.score.values.get(name) if side.score else None for name in measure.mean_of]
            for side in (pair.before, pair.after)
        ]
        if [one is None for one in sides[0]] != [one is None for one in sides[1]]:
            return None
        each = (one for both in zip(*sides, strict=True) for one in both)
        rows[pair.cluster].append([one or (0.0, 0.0) for one in each])
    sums = np.array(sorted(np.sum(found, axis=0).ravel().tolist() for found in rows.values()))
    return sums if bool(np.all(sums.sum(axis=0)[1::2] > 0)) else None


def _balanced(plain: Line, sums: NDArray[np.float64], options: Options) -> Line:
    """A line of a binary measure as one of the mean of its parts."""

    def shares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Before and after, by part."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: NDArray[np.float64] = rows[:, 0::2] / rows[:, 1::2]
        by_part: NDArray[np.float64] = found.reshape(len(rows), -1, 2)
        return by_part

    def differences(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        both = shares(rows).mean(axis=1)
        found: NDArray[np.float64] = both[:, 1] - both[:, 0]
        return found

    total = sums.sum(axis=0, keepdims=True)
    before, after = shares(total).mean(axis=1)[0]
    drawn = {"seed": options.seed, "resamples": options.resamples}
    limits = bootstrap.limits_of(sums, differences, confidence=options.confidence, **drawn)
    # Both sides have the same pairs, so that a swap of a cluster changes the mean by this much.
    moved = (sums[:, 2::4] - sums[:, 0::4]) / total[:, 1::4]
    low, high = limits or (None, None)
    return replace(
        plain,
        before=float(before),
        after=float(after),
        counts=((float(before), 1.0), (float(after), 1.0)),
        difference=float(after - before),
        low=low,
        high=high,
        interval=Method.NONE if limits is None else Method.BOOTSTRAP,
        p_value=permutation.sign_flip(moved.sum(axis=1).tolist(), **drawn),
        test=Method.PERMUTATION,
        balanced=True,
    )


def _ratio(measure: Measure, pairs: int, sums: NDArray[np.float64], options: Options) -> Line:
    limits, p_value = _tested(measure, sums, options) if measure.tested else (None, None)
    low, high = limits or (None, None)
    total = [float(one) for one in sums.sum(axis=0)]
    before, after = total[0] / total[1], total[2] / total[3]
    return Line(
        measure=measure,
        items=len(sums),
        pairs=pairs,
        before=before,
        after=after,
        counts=((total[0], total[1]), (total[2], total[3])),
        difference=after - before,
        low=low,
        high=high,
        interval=Method.NONE if limits is None else Method.BOOTSTRAP,
        p_value=p_value,
        test=Method.PERMUTATION if measure.tested else Method.NONE,
    )


def _tested(
    measure: Measure, sums: NDArray[np.float64], options: Options
) -> tuple[tuple[float, float] | None, float]:
    """The limits and the p-value of a difference of ratios."""
    drawn = {"seed": options.seed, "resamples": options.resamples}
    limits = bootstrap.limits(sums, confidence=options.confidence, **drawn)
    if measure.unit is Unit.SHARE or (sums[:, 1] != sums[:, 3]).any():
        return limits, permutation.swap_sums(sums, **drawn)
    return limits, permutation.sign_flip((sums[:, 2] - sums[:, 0]).tolist(), **drawn)
