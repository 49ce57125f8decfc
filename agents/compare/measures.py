"""What is compared, and the figures of one comparison of it.

Shares of episodes (right or wrong) with one pair an item: McNemar's exact test and Tango's
interval. Everything else, and shares over several epochs or modes: a bootstrap over items, and a
permutation test that swaps whole items.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from agents.compare.pairing import Pair
from agents.statistics import bootstrap, paired, permutation
from agents.statistics.bootstrap import Parts
from agents.statistics.shares import difference
from env.score import Score
from env.verdicts import ErrorCode


class Unit(StrEnum):
    """What a figure counts."""

    SHARE = "share"
    """Of episodes or calls, 0 to 1; shown in per cent."""
    CALLS = "calls"
    TOKENS = "tokens"
    USD = "USD"


class Method(StrEnum):
    """How a p-value or an interval was made."""

    MCNEMAR = "McNemar exact"
    PERMUTATION = "permutation"
    TANGO = "Tango score"
    BOOTSTRAP = "bootstrap"
    NONE = "none"
    """Too few items to resample, or all differ alike: an interval would claim too much."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a run: a sum of numerators by a sum of denominators over episodes."""

    name: str
    unit: Unit
    parts: Callable[[Score], Parts | None]
    """None where an episode's figure is not known."""
    binary: bool = False
    """Whether an episode either has it or not."""
    family: str = ""
    """Measures that are corrected together; its own name if empty."""


def _share(of: Callable[[Score], bool]) -> Callable[[Score], Parts]:
    return lambda one: (float(of(one)), 1.0)


def _mean(of: Callable[[Score], float | None]) -> Callable[[Score], Parts | None]:
    def parts(one: Score) -> Parts | None:
        value = of(one)
        return None if value is None else (float(value), 1.0)

    return parts


def _tokens(one: Score) -> float:
    """What the episode's replies took, those from a cache as when they were asked for."""
    saved = one.saved_input_tokens + one.saved_output_tokens
    return one.input_tokens + one.output_tokens + saved


def _cost(one: Score) -> float | None:
    """What the episode cost, replies from a cache at the price they had."""
    if one.cost_usd is None or one.saved_usd is None:
        return None
    total = one.cost_usd + one.saved_usd
    return total if math.isfinite(total) else None


def _code(code: ErrorCode) -> Measure:
    return Measure(
        f"calls: {code.value}",
        Unit.SHARE,
        lambda one: (float(one.errors.get(code, 0)), float(one.calls)),
        family="codes",
    )


MEASURES = (
    Measure("strict", Unit.SHARE, _share(lambda s: s.strict), binary=True),
    Measure("official", Unit.SHARE, _share(lambda s: bool(s.official)), binary=True),
    Measure("episodes with an error", Unit.SHARE, _share(lambda s: s.failed_calls > 0), True),
    Measure("calls with an error", Unit.SHARE, lambda s: (float(s.failed_calls), float(s.calls))),
    Measure("calls an episode", Unit.CALLS, _mean(lambda s: s.calls)),
    Measure(
        "tokens an episode",
        Unit.TOKENS,
        _mean(_tokens),
    ),
    Measure("cost an episode", Unit.USD, _mean(_cost)),
)
"""Replies out of a response cache count as if they had been asked for: a comparison is of the
players, not of what was at hand."""
CODES = tuple(_code(code) for code in ErrorCode)

Clustered: TypeAlias = dict[str, list[tuple[Parts, Parts]]]
Sums: TypeAlias = NDArray[np.float64]
"""`bootstrap.cluster_sums`: a row an item."""


@dataclass(frozen=True, slots=True)
class Options:
    """How figures are made."""

    seed: int = 0
    resamples: int = 10_000
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class Line:
    """One measure under both conditions. Shares are 0 to 1."""

    measure: str
    unit: Unit
    items: int
    pairs: int
    before: float
    after: float
    difference: float
    """`after` - `before`."""
    low: float | None
    high: float | None
    interval: Method
    p_value: float
    test: Method
    gained: int | None
    """Pairs that only the second condition has the property in; None for means and ratios."""
    lost: int | None
    mid_p: float | None
    """McNemar's mid-p, where that test was used."""
    detectable: float | None
    """The smallest difference that so many pairs with so many discordant ones show in four of
    five studies; None where another test was used, or none could be shown."""
    adjusted: float | None = None
    """The p-value after Holm's correction; None where it stands alone."""


def lines(pairs: Sequence[Pair], options: Options) -> list[Line]:
    """Every measure that these pairs have a figure for."""
    found = (line(measure, pairs, options) for measure in (*MEASURES, *CODES))
    return [one for one in found if one is not None]


def line(measure: Measure, pairs: Sequence[Pair], options: Options) -> Line | None:
    """One measure; None where a figure is not known, or nothing was counted on either side."""
    values: Clustered = defaultdict(list)
    for pair in pairs:
        before, after = measure.parts(pair.before), measure.parts(pair.after)
        if before is None or after is None:
            return None
        values[pair.key.item].append((before, after))
    sums = bootstrap.cluster_sums(values)
    total = sums.sum(axis=0)
    nothing = not measure.binary and not total[0] and not total[2]
    if nothing or not total[1] or not total[3]:
        return None
    if measure.binary:
        return _binary(measure, values, options)
    return _ratio(measure, len(pairs), sums, options)


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
    found, one_each = shares.found, shares.one_each
    interval = Method.BOOTSTRAP if shares.resampled else Method.TANGO
    share = (found.gained + found.lost) / found.n
    smallest = paired.smallest_detectable(found.n, share) if one_each else math.inf
    return Line(
        measure=measure.name,
        unit=measure.unit,
        items=shares.items,
        pairs=found.n,
        before=found.before,
        after=found.after,
        difference=found.difference,
        low=shares.low,
        high=shares.high,
        interval=Method.NONE if shares.low is None else interval,
        p_value=shares.p_value,
        test=Method.MCNEMAR if one_each else Method.PERMUTATION,
        gained=found.gained,
        lost=found.lost,
        mid_p=paired.mcnemar_mid_p(found.gained, found.lost) if one_each else None,
        detectable=smallest if math.isfinite(smallest) else None,
    )


def _ratio(measure: Measure, pairs: int, sums: Sums, options: Options) -> Line:
    low, high, interval = _bootstrap(sums, options)
    total = sums.sum(axis=0)
    before, after = float(total[0] / total[1]), float(total[2] / total[3])
    if measure.unit is Unit.SHARE:
        p_value = permutation.swap_sums(sums, seed=options.seed, resamples=options.resamples)
    else:
        gaps = (sums[:, 2] - sums[:, 0]).tolist()
        p_value = permutation.sign_flip(gaps, seed=options.seed, resamples=options.resamples)
    return Line(
        measure=measure.name,
        unit=measure.unit,
        items=len(sums),
        pairs=pairs,
        before=before,
        after=after,
        difference=after - before,
        low=low,
        high=high,
        interval=interval,
        p_value=p_value,
        test=Method.PERMUTATION,
        gained=None,
        lost=None,
        mid_p=None,
        detectable=None,
    )


def _bootstrap(sums: Sums, options: Options) -> tuple[float | None, float | None, Method]:
    found = bootstrap.limits(
        sums, seed=options.seed, resamples=options.resamples, confidence=options.confidence
    )
    return (None, None, Method.NONE) if found is None else (*found, Method.BOOTSTRAP)
