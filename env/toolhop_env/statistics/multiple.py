"""Multiple tests: p-values corrected for the number of tests."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Apply Holm's step-down correction (1979); the result has the order of `p_values`.

    Rejecting at or below alpha keeps the probability of any false alarm at alpha, however the tests
    depend on one another.

    Raises:
        ValueError: a p-value is not from 0 to 1.
    """
    wrong = [p for p in p_values if not 0 <= p <= 1]
    if wrong:
        raise ValueError(f"p-values lie from 0 to 1, not {wrong[0]}")
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = least
    return corrected
