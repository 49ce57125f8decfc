"""How often k tries at an item hold one success (pass@k), or nothing else (pass^k).

Both are unbiased from n >= k tries of which c succeeded: the share of all ways to choose k tries
in which one succeeded (Chen et al. 2021, arXiv 2107.03374), or in which all did (Yao et al. 2024,
arXiv 2406.12045).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from toolhop_env.statistics import wilson


@dataclass(frozen=True, slots=True)
class PassRate:
    """A mean over items with its standard error and 95 % interval (`statistics.wilson`)."""

    k: int
    value: float
    stderr: float | None
    """Over items, drawn as they were; None for a single item."""
    items: int
    low: float
    high: float


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of k tries succeeds.

    Raises:
        ValueError: not 0 <= c <= n, or not 1 <= k <= n.
    """
    _check(n, c, k)
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """The chance that all of k tries succeed (pass^k).

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
    """The numbers of tries that are shown: powers of two up to `most`, and none for one try."""
    return [2**power for power in range(most.bit_length())] if most > 1 else []


def over_items(
    tries: Sequence[tuple[int, int]], k: int, estimate: Callable[[int, int, int], float]
) -> PassRate | None:
    """The mean of `estimate` over items, given (n, c) for each; None where no item has k tries.

    Items with fewer than k tries are left out: `items` says how many were used.
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
