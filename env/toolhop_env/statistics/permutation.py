"""Paired permutation tests: if two conditions do not differ, their labels may be swapped.

A swap exchanges before and after for a whole cluster (an item with all its epochs). The p-value is
the share of all ways to swap whose difference, in either direction, is at least as large as the
observed one.

All ways are counted if possible: for whole numbers through the distribution of their sum, else for
up to 16 clusters that differ. Otherwise ways are drawn at random, and the observed one counts as
one of them (Phipson, Smyth 2010), so that the test never rejects too often.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from toolhop_env.statistics.bootstrap import (
    ratio_difference,
    weighted,
)

EXACT_MAX = 16
"""Maximum number of differing clusters for which all 2**n ways are listed."""
LATTICE_MAX = 100_000
"""Maximum sum of whole-numbered differences whose distribution is computed exactly."""
SLACK = 1e-9
"""Relative tolerance: sums that are equal on paper differ in their last bits."""


def sign_flip(differences: Sequence[float], *, seed: int, resamples: int = 10_000) -> float:
    """Return the two-sided p for the sum of `differences`, one per cluster, under sign flips.

    With differences of -1, 0 and 1 this is the exact McNemar test. The result is 1 if nothing
    differs. `seed` and `resamples` matter only if not all ways can be counted.
    """
    found = np.array(sorted(map(float, differences)), dtype=np.float64)
    moving = found[found != 0]
    if not len(moving):
        return 1.0
    whole = bool(np.all(moving == np.rint(moving)))
    if whole and np.abs(moving).sum() <= LATTICE_MAX:
        return _counted(moving.astype(np.int64))
    exact = len(moving) <= EXACT_MAX
    ways = _all_ways(len(moving)) if exact else _drawn_ways(len(found), seed, resamples)
    sums = np.abs(weighted(ways, moving if exact else found))
    return _share(sums, abs(float(found.sum())), exact=exact)


def swap_sums(sums: NDArray[np.float64], *, seed: int, resamples: int = 10_000) -> float:
    """Return the two-sided p for a difference of ratios of sums (`bootstrap.of_sums`).

    Args:
        sums: rows of `bootstrap.cluster_sums`; whole rows are swapped.
        seed: seed for drawing ways.
        resamples: number of ways to draw if there are too many to count.

    Raises:
        ValueError: a side's denominators sum to 0.
    """
    before, after = sums[:, :2], sums[:, 2:]
    total = sums.sum(axis=0)
    observed = ratio_difference(total[None, :])[0]
    if np.isnan(observed):
        raise ValueError("there are no pairs to compare: a side has nothing to divide by")
    moving = np.any(before != after, axis=1)
    if not moving.any():
        return 1.0
    exact = int(moving.sum()) <= EXACT_MAX
    gap = (before - after)[moving] if exact else before - after
    ways = _all_ways(len(gap)) if exact else _drawn_ways(len(gap), seed, resamples)
    # A sign of -1 moves a cluster's parts from after to before, and back.
    shift = (gap.sum(axis=0) - weighted(ways, gap)) / 2
    swapped = np.column_stack([total[:2] - shift, total[2:] + shift])
    found = np.abs(ratio_difference(swapped))
    return _share(found[~np.isnan(found)], abs(float(observed)), exact=exact)


def _counted(found: NDArray[np.int64]) -> float:
    """Return the exact p from the distribution of the sum, built up difference by difference."""
    sizes = np.abs(found)
    reach = int(sizes.sum())
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for size in sizes:
        down, up = np.roll(chances, -size), np.roll(chances, size)
        chances = (down + up) / 2
    at = np.abs(np.arange(-reach, reach + 1))
    return min(1.0, float(chances[at >= abs(int(found.sum()))].sum()))


def _all_ways(count: int) -> NDArray[np.int8]:
    """Return the signs for every combination of swaps, one combination per row."""
    bits = np.arange(2**count)[:, None] >> np.arange(count) & 1
    return (1 - 2 * bits).astype(np.int8)


@lru_cache(maxsize=2)
def _drawn_ways(count: int, seed: int, resamples: int) -> NDArray[np.int8]:
    """Return randomly drawn ways to swap; cached for the next measure of the same clusters."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 2, size=(resamples, count), dtype=np.int8)
    return np.where(found, np.int8(1), np.int8(-1))


def _share(sums: NDArray[np.float64], observed: float, *, exact: bool) -> float:
    reached = int(np.count_nonzero(sums >= observed - SLACK * max(float(sums.max()), observed)))
    return reached / len(sums) if exact else (reached + 1) / (len(sums) + 1)
