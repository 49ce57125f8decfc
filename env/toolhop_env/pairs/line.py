"""The figures of one comparison: a measure under two conditions over the same episodes.

A binary measure with one pair per item gets McNemar's exact test and Tango's interval. Everything
else gets a bootstrap over items and a permutation test that swaps whole items, as epochs and modes
of one item are not independent. A binary measure that tables show as the mean of others (balanced
accuracy) is compared as that mean if each pair belongs to the same part on both sides.
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
"""Parts before and after of each pair, by item or family (`Attempt.cluster`)."""


class Method(StrEnum):
    """Method behind a p-value or an interval."""

    MCNEMAR = "McNemar exact"
    PERMUTATION = "permutation"
    TANGO = "Tango score"
    BOOTSTRAP = "bootstrap"
    NONE = "none"
    """No interval, as too few items or equal differences would make it claim too much; or no test,
    as the measure is not tested."""


@dataclass(frozen=True, slots=True)
class Options:
    """Parameters of resampling and intervals."""

    seed: int = 0
    resamples: int = 10_000
    confidence: float = 0.95
    power: bool = True
    """Whether to state a minimum detectable difference, which is for items, not for branches."""


@dataclass(frozen=True, slots=True)
class Line:
    """One measure under both conditions. Shares are from 0 to 1."""

    measure: Measure
    items: int
    """Number of items, or of families of items (`Attempt.cluster`)."""
    pairs: int
    """Number of pairs in which both sides have a value."""
    before: float
    after: float
    counts: tuple[Parts, Parts]
    """Numerator and denominator of `before` and `after`; on a balanced line, the means over 1."""
    difference: float
    """`after` - `before`."""
    low: float | None
    high: float | None
    interval: Method
    p_value: float | None
    """The p-value; None for a measure that is described but not tested."""
    test: Method
    gained: int | None = None
    """Number of discordant pairs in which only the second side has the property; None if the
    measure is not binary."""
    lost: int | None = None
    balanced: bool = False
    """Whether `before` and `after` are means over `Measure.mean_of`, equally weighted; `gained`
    and `lost` still count pairs."""
    power: bool = True
    adjusted: float | None = None
    """P-value after Holm's correction; None for a test that stands alone."""

    def disagreement(self, confidence: float) -> str:
        """Explain an apparent contradiction between interval and p-value; empty if there is none.

        They contradict each other if the interval of `confidence` has 0 and p is at most 1 -
        `confidence`, or if neither holds. The corrected p-value is used if there is one.
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
        """Heading of the line in tables."""
        return f"{self.measure.heading}, balanced" if self.balanced else self.measure.heading

    @property
    def mid_p(self) -> float | None:
        """McNemar's mid-p; None if another test was used."""
        if self.test is not Method.MCNEMAR or self.gained is None or self.lost is None:
            return None
        return paired.mcnemar_mid_p(self.gained, self.lost)

    @property
    def detectable(self) -> float | None:
        """Minimum detectable difference of a binary measure, at 80 % power; None if there is none.

        It is the smallest difference that this number of items, with this share of discordant
        pairs, shows at the 0.05 level in four of five studies.
        """
        if self.gained is None or self.lost is None or self.balanced or not self.power:
            return None
        found = _detectable(self.items, (self.gained + self.lost) / self.pairs)
        return found if math.isfinite(found) else None


_APART = {
    True: "Tango's interval belongs to a score test, the p-value to an exact one, which is more "
    "cautious; at the margin they part. The exact test decides.",
    False: "the bootstrap draws items as they differ, the test swaps them as if they did not; with "
    "few or skewed items they part at the margin. The test decides.",
}
"""Why the interval and the test may disagree, by whether the interval is Tango's."""


def disagreements(found: Iterable[tuple[str, Line]], confidence: float) -> dict[str, Sequence[str]]:
    """Return the names of the lines with an apparent contradiction, by its explanation."""
    named: dict[str, list[str]] = defaultdict(list)
    for name, one in found:
        if reason := one.disagreement(confidence):
            named[reason].append(name)
    return {reason: list(dict.fromkeys(names)) for reason, names in named.items()}


@cache
def _detectable(items: int, discordant_share: float) -> float:
    # Needed for every group of every breakdown, often with equal arguments.
    return paired.smallest_detectable(items, discordant_share)


def compared(benchmark: Benchmark) -> tuple[Measure, ...]:
    """Return the measures in which runs of a benchmark are compared.

    Time is left out, as settings that change no result, such as the sandbox, affect it.
    """
    conduct = (one for one in CONDUCT if one.unit is not Unit.SECONDS)
    return (*benchmark.measures, *conduct, *CODES)


def lines(measures: Sequence[Measure], pairs: Sequence[Pair], options: Options) -> list[Line]:
    """Return a line for each measure that has a figure over these pairs."""
    found = (line(measure, pairs, options) for measure in measures)
    return [one for one in found if one is not None]


def line(measure: Measure, pairs: Sequence[Pair], options: Options) -> Line | None:
    """Compare one measure over the pairs in which both sides have a value.

    Returns None if there is no such pair or nothing was counted: no call on a side, or an error
    code that neither side has.
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
    """Return the lines with p-values corrected for one another (Holm), in the same order."""
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
        power=options.power,
    )


def _by_part(measure: Measure, pairs: Sequence[Pair]) -> NDArray[np.float64] | None:
    """Return the sums before and after by cluster and part of a mean (`bootstrap.cluster_sums`).

    Returns None if the measure is not a mean, if a pair is in different parts on its two sides, or
    if a part has no pair.
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
    """Turn the line of a binary measure into that of the mean of its parts."""

    def shares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shares before and after, by part."""
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
    """Return the interval and the p-value of a difference of ratios."""
    drawn = {"seed": options.seed, "resamples": options.resamples}
    limits = bootstrap.limits(sums, confidence=options.confidence, **drawn)
    if measure.unit is Unit.SHARE or (sums[:, 1] != sums[:, 3]).any():
        return limits, permutation.swap_sums(sums, **drawn)
    return limits, permutation.sign_flip((sums[:, 2] - sums[:, 0]).tolist(), **drawn)
