"""Tails of the binomial and Student's t distributions, as needed by the tests here.

A statistics library has all of this, but takes ten times the memory of everything else that a run
loads. `tests/env/test_tails.py` compares each function with such a library over a wide grid.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

HALVINGS = 60
"""Halvings of an angle below 2, after which the rest is below a float's precision."""


def fair_coin(most: int, tosses: int) -> float:
    """Return the probability of at most `most` heads in `tosses` of a fair coin, rounded once."""
    ways = term = 1
    for heads in range(most):
        term = term * (tosses - heads) // (heads + 1)
        ways += term
    return ways / (1 << tosses)


@lru_cache(maxsize=8)
def rejections(most_tosses: int, alpha: float) -> NDArray[np.int64]:
    """Return the most heads that a two-sided exact test rejects, by number of tosses from 0.

    The limit is -1 if nothing is rejected. It is computed in integers and agrees with `fair_coin`
    to the last bit. One more toss raises it by one or not at all.
    """
    limits = np.full(most_tosses + 1, -1, dtype=np.int64)
    most, ways, term = -1, 0, 0  # ways to get at most `most` heads, and exactly `most`
    for tosses in range(1, most_tosses + 1):
        ways = 2 * ways - term
        term = term * tosses // (tosses - most) if most >= 0 else 0
        further = term * (tosses - most) // (most + 1) if most >= 0 else 1
        if 2 * (ways + further) / (1 << tosses) <= alpha:
            most, ways, term = most + 1, ways + further, further
        limits[tosses] = most
    return limits


def exactly(
    heads: NDArray[np.int64], tosses: NDArray[np.int64], chance: float
) -> NDArray[np.float64]:
    """Return the probability of exactly `heads`, elementwise; 0 outside the range of `tosses`."""
    possible = (heads >= 0) & (heads <= tosses)
    if chance in {0.0, 1.0}:
        return np.where(possible & (heads == chance * tosses), 1.0, 0.0)
    some = np.where(possible, heads, 0)
    logs = _log_factorials(int(tosses.max(initial=0)))
    ways = logs[tosses] - logs[some] - logs[tosses - some]
    log_chance = ways + some * math.log(chance) + (tosses - some) * math.log1p(-chance)
    found: NDArray[np.float64] = np.exp(log_chance)
    return np.where(possible, found, 0.0)


def at_most(limits: NDArray[np.int64], chance: float) -> NDArray[np.float64]:
    """Return the probability of at most `limits[n]` heads in n tosses, for each n from 0.

    `limits` begins at -1 and rises by one or not at all. Each probability is computed from the one
    before: another toss removes `chance` of the case at the limit, a higher limit adds a case.
    """
    tosses = np.arange(len(limits))
    at_limit = exactly(limits, tosses, chance)
    raised = np.diff(limits, prepend=-1) > 0
    lost = np.concatenate([[0.0], chance * at_limit[:-1]])
    found: NDArray[np.float64] = np.cumsum(np.where(raised, at_limit, 0.0) - lost)
    return found.clip(0.0, 1.0)


@lru_cache(maxsize=64)
def students_t(confidence: float, freedom: int) -> float:
    """Return the t such that Student's distribution is within -t..t with probability `confidence`.

    `freedom` is the integer number of degrees of freedom, at least 1. The probability is the finite
    sum in cos(atan(t / sqrt(freedom))) of Abramowitz and Stegun 26.7.3 and 26.7.4; t is found by
    bisection.
    """
    odd = freedom % 2
    steps = np.arange(1, (freedom - odd) // 2 if freedom > 1 else 0)
    factors = np.cumprod(np.concatenate([[1.0], (2 * steps - 1 + odd) / (2 * steps + odd)]))
    low, high = 0.0, math.pi / 2
    for _ in range(HALVINGS):
        angle = (low + high) / 2
        cosine = math.cos(angle)
        series = math.sin(angle) * float(factors @ cosine ** (2.0 * np.arange(len(factors)) + odd))
        inside = 2 / math.pi * (angle + (series if freedom > 1 else 0.0)) if odd else series
        low, high = (angle, high) if inside < confidence else (low, angle)
    return math.tan((low + high) / 2) * math.sqrt(freedom)


@lru_cache(maxsize=4)
def _log_factorials(most: int) -> NDArray[np.float64]:
    return np.array([math.lgamma(n + 1) for n in range(most + 1)])
