"""Bootstrap intervals for paired differences, resampling whole clusters.

A cluster is an item with all its epochs: epochs of one item are not independent, items are. The
interval is the percentile interval, widened for few clusters (Hesterberg 2015, The American
Statistician 69: 371-386): its tails are those of a t interval with the same number of clusters,
corrected by the factor sqrt((m - 1) / m) that resampling loses. The plain percentile interval
covers 92 % instead of 95 % at 20 clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from toolhop_env.score import Parts
from toolhop_env.statistics.tails import students_t

Cluster = TypeVar("Cluster", bound=Hashable)
BLOCK = 2_000_000
"""Number of values held at a time while resampling (16 MB)."""
LEAST_CLUSTERS = 8
"""Minimum number of clusters. In simulations the bootstrap covers 94-95 % at 8, but only 91 % at
5."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its lower and upper limits."""

    estimate: float
    low: float
    high: float


def clustered(
    values: Mapping[Cluster, Sequence[tuple[float, float]]],
    *,
    seed: int,
    resamples: int = 10_000,
    confidence: float = 0.95,
) -> Interval:
    """Return the mean of after - before over all pairs, with an interval from resampling clusters.

    `values` has the pairs (before, after) by cluster. The same seed gives the same interval,
    whatever the order of clusters. A single cluster, or clusters with equal differences, give an
    interval of zero width, as resampling shows no variation.

    Raises:
        ValueError: there is no pair, or `resamples` or `confidence` is out of range.
    """
    parts = {key: [((b, 1.0), (a, 1.0)) for b, a in pairs] for key, pairs in values.items()}
    return of_sums(cluster_sums(parts), seed=seed, resamples=resamples, confidence=confidence)


def of_sums(
    sums: NDArray[np.float64], *, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> Interval:
    """Return a difference of ratios of sums, such as the share of failed calls, with an interval.

    Resamples in which a side's denominators sum to 0 are left out.

    Args:
        sums: rows of `cluster_sums`.
        seed: seed of the resamples.
        resamples: number of resamples.
        confidence: between 0 and 1.

    Raises:
        ValueError: a side's denominators sum to 0, or `resamples` or `confidence` is out of range.
    """
    if resamples < 1 or not 0 < confidence < 1:
        raise ValueError(
            f"{resamples} resamples, confidence {confidence}: at least 1, and between 0 and 1"
        )
    estimate = ratio_difference(sums.sum(axis=0, keepdims=True))[0]
    if math.isnan(estimate):
        raise ValueError("there are no pairs to compare: a side has nothing to divide by")
    drawn = ratio_difference(weighted(_counts(len(sums), seed, resamples), sums))
    tail = _tail(len(sums), confidence)
    low, high = np.nanquantile(drawn, (tail, 1 - tail))
    return Interval(float(estimate), float(min(low, estimate)), float(max(high, estimate)))


def limits(
    sums: NDArray[np.float64], *, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Return the limits of `of_sums`; None if there is too little to resample.

    That is so with fewer than `LEAST_CLUSTERS` clusters, or if all differences are equal.

    Raises:
        ValueError: as `of_sums`.
    """
    if len(sums) < LEAST_CLUSTERS:
        return None
    found = of_sums(sums, seed=seed, resamples=resamples, confidence=confidence)
    return None if found.low == found.high else (found.low, found.high)


def limits_of(
    sums: NDArray[np.float64],
    of: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    seed: int,
    resamples: int = 10_000,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Return the limits of any figure of summed rows; None if there is too little to resample.

    Args:
        sums: one row per cluster, in an order that does not depend on names.
        of: returns the figure of each of several rows of sums; nan if there is none.
        seed: seed of the resamples.
        resamples: number of resamples.
        confidence: between 0 and 1.

    Raises:
        ValueError: `resamples` or `confidence` is out of range.
    """
    if resamples < 1 or not 0 < confidence < 1:
        raise ValueError(
            f"{resamples} resamples, confidence {confidence}: at least 1, and between 0 and 1"
        )
    if len(sums) < LEAST_CLUSTERS:
        return None
    drawn = of(weighted(_counts(len(sums), seed, resamples), sums))
    if np.isnan(drawn).all():
        return None
    tail = _tail(len(sums), confidence)
    low, high = (float(one) for one in np.nanquantile(drawn, (tail, 1 - tail)))
    return None if low == high else (low, high)


def cluster_sums(
    values: Mapping[Cluster, Sequence[tuple[Parts, Parts]]],
) -> NDArray[np.float64]:
    """Return one row per cluster: sums before (numerator, denominator) and after.

    Rows are sorted by content, so that names and order of clusters have no influence.
    """
    rows = [
        tuple(math.fsum(pair[side][part] for pair in pairs) for side in (0, 1) for part in (0, 1))
        for pairs in values.values()
        if pairs
    ]
    return np.array(sorted(rows), dtype=np.float64).reshape(-1, 4)


def ratio_difference(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return after - before for each row of sums; nan if a denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = sums[:, 2] / sums[:, 3] - sums[:, 0] / sums[:, 1]
    return np.where((sums[:, 1] == 0) | (sums[:, 3] == 0), np.nan, found)


def weighted(
    weights: NDArray[np.uint8] | NDArray[np.int8], sums: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return `weights @ sums`, without copying all weights as floats."""
    rows = max(1, BLOCK // weights.shape[1])
    return np.concatenate(
        [
            weights[start : start + rows].astype(np.float64) @ sums
            for start in range(0, len(weights), rows)
        ]
    )


@lru_cache(maxsize=2)
def _counts(m: int, seed: int, resamples: int) -> NDArray[np.uint8]:
    """Return how often each of m clusters occurs in each resample.

    Cached for the next measure of the same clusters, as drawing takes longer than all the rest. No
    count reaches 256: the probability is below 1e-500.
    """
    rng = np.random.default_rng(seed)
    rows = max(1, BLOCK // m)
    found = np.empty((resamples, m), dtype=np.uint8)
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        chosen = rng.integers(m, size=(size, m)) + m * np.arange(size)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=size * m)
        found[start : start + size] = counts.reshape(size, m)
    return found


def _tail(m: int, confidence: float) -> float:
    """Return the share of resamples beyond each limit, for m clusters."""
    if m < 2:
        return (1 - confidence) / 2
    t = students_t(confidence, m - 1)
    return NormalDist().cdf(-t * math.sqrt(m / (m - 1)))
