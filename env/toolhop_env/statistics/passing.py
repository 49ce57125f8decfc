"""Probability that k tries at an item include a success (pass@k), or are all successes (pass^k).

Both are unbiased estimates from n >= k tries, c of them successful: the share of all choices of k
tries that include a success (Chen et al. 2021, arXiv 2107.03374), or in which all succeeded (Yao et
al. 2024, arXiv 2406.12045).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from toolhop_env.statistics import wilson


@dataclass(frozen=True, slots=True)
class PassRate:
    """A mean over items, with its standard error and 95 % interval (`statistics.wilson`)."""

    k: int
    value: float
    stderr: float | None
    """Standard error over items; None for a single item."""
    items: int
    low: float
    high: float


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the probability that at least one of k tries succeeds.

    Raises:
        ValueError: not 0 <= c <= n, or not 1 <= k <= n.
    """
    _check(n, c, k)
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return the probability that all of k tries succeed (pass^k).

    Raises:
        ValueError: not 0 <= c <= n, or not 1 <= k <= n.
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


KINDS: Mapping[str, Callable[[int, int, int], float]] = {
    "pass@k": pass_at_k,
    "pass^k": pass_hat_k,
}


def usual_ks(most: int) -> list[int]:
    """Return the values of k to report: powers of two up to `most`; empty if `most` is 1."""
    return [2**power for power in range(most.bit_length())] if most > 1 else []


def over_items(
    tries: Sequence[tuple[int, int]], k: int, estimate: Callable[[int, int, int], float]
) -> PassRate | None:
    """Return the mean of `estimate` over items with (n, c) each; None if no item has k tries.

    Items with fewer than k tries are left out; `items` is the number of items used.
    """
    used = [(n, c) for n, c in tries if n >= k]
    if not used:
        return None
    found = [estimate(n, c, k) for n, c in used]
    mean, error = math.fsum(found) / len(found), None
    if len(found) > 1:
        spread = math.fsum((one - mean) ** 2 for one in found) / (len(found) - 1)
        error = math.sqrt(spread / len(found))
    limits = wilson.clustered(mean, error, least=len(used), most=sum(n // k for n, _ in used))
    return PassRate(k, mean, error, len(used), *limits)


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n or not 1 <= k <= n:
        raise ValueError(
            f"{c} successes in {n} tries, k = {k}: successes lie from 0 to {n}, and k from 1 to {n}"
        )
