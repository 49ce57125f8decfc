"""Two conditions on the same items, each right or wrong: test, interval, detectable difference.

Only discordant pairs distinguish the conditions: `gained` (wrong before, right after) and `lost`
(right before, wrong after).

The interval is Tango's score interval (Tango 1998, Statistics in Medicine 17: 891-908). Of the
Wald, Agresti-Min, Bonett-Price and Tango intervals, with the exact coverage enumerated for 20 to 60
pairs (`python -m benchmarks.interval_coverage`), Tango's stays closest to its level: at least 93 %
everywhere, and 93-98 % where four or more discordant pairs are expected. Where fewer are expected,
it covers up to 100 %; there Bonett-Price covers even more, while Wald falls to 46 % and Agresti-Min
to 87 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from toolhop_env.statistics.tails import at_most, exactly, fair_coin, rejections

STEPS = 60
"""Halvings of an interval of length 2, after which the rest is below a float's precision."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Shares that are right before and after, over the same n pairs."""

    n: int
    gained: int
    """Number of pairs wrong before and right after."""
    lost: int
    """Number of pairs right before and wrong after."""
    before: float
    after: float
    difference: float
    """`after` - `before`, from -1 to 1."""
    low: float
    high: float
    p_value: float
    """P-value of the two-sided exact McNemar test of no difference."""


def mcnemar_exact(gained: int, lost: int) -> float:
    """Return the two-sided exact p of McNemar's test: discordant pairs as tosses of a fair coin.

    It is 1 without discordant pairs. The test never rejects too often, but rejects too rarely at
    small counts.

    Raises:
        ValueError: a count is negative.
    """
    _check_counts(gained, lost)
    fewer, total = min(gained, lost), gained + lost
    return min(1.0, 2 * fair_coin(fewer, total))


def mcnemar_mid_p(gained: int, lost: int) -> float:
    """Return McNemar's mid-p, which gives the observed outcome half its weight (Lancaster 1961).

    It is closer to its level than the exact p (Fagerland, Lydersen, Laake 2013), but may exceed the
    level slightly. Reported with the exact p, which decides.

    Raises:
        ValueError: a count is negative.
    """
    _check_counts(gained, lost)
    fewer, total = min(gained, lost), gained + lost
    if gained == lost:
        return 1.0
    point = math.exp(_log_choose(total, fewer) - total * math.log(2))
    return max(0.0, mcnemar_exact(gained, lost) - point)


def difference(pairs: Sequence[tuple[bool, bool]], *, confidence: float = 0.95) -> PairedDifference:
    """Return the difference of two shares over `pairs` of (right before, right after).

    Raises:
        ValueError: there is no pair, or `confidence` is not between 0 and 1.
    """
    if not pairs:
        raise ValueError("there are no pairs to compare")
    n = len(pairs)
    before, after = sum(bool(b) for b, _ in pairs), sum(bool(a) for _, a in pairs)
    gained = sum(bool(a) and not b for b, a in pairs)
    lost = sum(bool(b) and not a for b, a in pairs)
    low, high = score_interval(gained, lost, n, confidence=confidence)
    return PairedDifference(
        n=n,
        gained=gained,
        lost=lost,
        before=before / n,
        after=after / n,
        difference=(gained - lost) / n,
        low=low,
        high=high,
        p_value=mcnemar_exact(gained, lost),
    )


def score_interval(
    gained: int, lost: int, n: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return Tango's interval: the differences that a score test on this data does not reject.

    Raises:
        ValueError: n pairs cannot have these counts, or `confidence` is not between 0 and 1.
    """
    _check_counts(gained, lost)
    if n < 1 or gained + lost > n:
        raise ValueError(f"{gained} gained and {lost} lost are not among {n} pairs")
    z = _quantile(confidence)
    found = (gained - lost) / n

    def excess(delta: float) -> float:
        return _score(gained, lost, n, delta)

    low = _crossing(lambda delta: excess(delta) > z, -1.0, found)
    high = _crossing(lambda delta: excess(delta) > -z, found, 1.0)
    return low, high


def smallest_detectable(
    n: int, discordant_share: float, *, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Return the smallest difference that the exact McNemar test on n pairs detects with `power`.

    `discordant_share` is the assumed share of discordant pairs; a larger difference raises it, as
    it cannot exceed that share. Power is summed over the binomial number of discordant pairs, not
    approximated. The result is `math.inf` if no difference can be detected, as with fewer than 6
    pairs at alpha 0.05.

    Raises:
        ValueError: an argument is out of range.
    """
    if n < 1 or not 0 <= discordant_share <= 1 or not 0 < power < 1 or not 0 < alpha < 1:
        raise ValueError(
            f"{n} pairs, discordant share {discordant_share}, power {power}, alpha {alpha}: "
            "pairs must be 1 or more, the share from 0 to 1, power and alpha between 0 and 1"
        )
    rejects = rejections(n, alpha)

    def too_small(delta: float) -> bool:
        return _power(n, max(discordant_share, delta), delta, rejects) < power

    return math.inf if too_small(1.0) else _crossing(too_small, 0.0, 1.0)


def _power(n: int, discordant_share: float, delta: float, rejects: NDArray[np.int64]) -> float:
    if discordant_share == 0:
        return 0.0
    totals = np.arange(n + 1)
    gains = min(1.0, (1 + delta / discordant_share) / 2)
    either = at_most(rejects, gains) + at_most(rejects, 1 - gains)
    chances = exactly(totals, np.full(n + 1, n), discordant_share)
    return float(chances @ either)


def _score(gained: int, lost: int, n: int, delta: float) -> float:
    """Return Tango's statistic for the hypothesis that the true difference is `delta`.

    `lost_share`, the largest root of the likelihood equation, is the maximum-likelihood share of
    lost pairs under that hypothesis.
    """
    linear = -gained - lost + (2 * n - gained + lost) * delta
    constant = -lost * delta * (1 - delta)
    root = math.sqrt(max(linear * linear - 8 * n * constant, 0.0))
    lost_share = (root - linear) / (4 * n)
    variance = n * (2 * lost_share + delta * (1 - delta))
    excess = gained - lost - n * delta
    if variance <= 0:
        return 0.0 if excess == 0 else math.copysign(math.inf, excess)
    return excess / math.sqrt(variance)


def _crossing(before: Callable[[float], bool], low: float, high: float) -> float:
    """Return the point where `before`, which is true from `low` on, becomes false."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if before(middle) else (low, middle)
    return (low + high) / 2


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must lie between 0 and 1, such as 0.95")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _check_counts(*counts: int) -> None:
    if any(count < 0 for count in counts):
        raise ValueError(f"counts of pairs are {counts}; none may be negative")
