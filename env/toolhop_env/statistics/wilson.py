"""Wilson's score interval (1927) of a share, whose limits are valid at 0 and 1 too.

If several trials belong to one item, they count as the number of independent trials that would have
the share's clustered error: the effective sample size (Kish, Survey Sampling, 1965), used in
Wilson's interval as by Dean and Pagano (2015, Journal of Survey Statistics and Methodology 3:
484-503). At 0 and 1 that error is 0 and uninformative, so each cluster counts as one trial.
"""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(share: float, trials: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a share; `trials` may be an effective number."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = share + z**2 / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    scale = 1 + z**2 / trials
    low, high = max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
    return min(low, share), max(high, share)


def wilson_upper(count: int, trials: int, *, confidence: float = 0.95) -> float:
    """Return Wilson's one-sided upper bound on a share: for 0 of 60 it is 4.3 % at 95 %.

    Raises:
        ValueError: there are no trials, or `count` is not from 0 to `trials`.
    """
    if not 0 <= count <= trials or trials == 0:
        raise ValueError(f"{count} of {trials}: give at least one trial, and a count among them")
    return wilson(count / trials, trials, confidence=2 * confidence - 1)[1]


def clustered(
    share: float, stderr: float | None, *, least: float, most: float
) -> tuple[float, float]:
    """Return the 95 % interval of a share over clusters.

    Args:
        share: from 0 to 1.
        stderr: its standard error over clusters; None for a single cluster.
        least: effective number of trials if the trials of each cluster agree; for equally large
            clusters, the number of clusters.
        most: number of trials.
    """
    trials = least
    if stderr is not None and 0 < share < 1:
        trials = max(least, min(most, share * (1 - share) / stderr**2 if stderr else most))
    return wilson(min(1.0, max(0.0, share)), trials)
