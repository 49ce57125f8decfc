"""Agreement of two judges: accuracy and Cohen's kappa, with intervals over whole items.

Kappa (Cohen 1960) is the agreement beyond chance: (p - e) / (1 - e), where p is the share of equal
verdicts and e the share expected by chance from the judges' frequencies. Questions of one item are
not independent, so items are resampled, as in `bootstrap`. If nothing can be resampled, accuracy
has Wilson's interval (1927) with items as trials, and kappa has none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from toolhop_env.statistics import bootstrap
from toolhop_env.statistics.wilson import wilson

Item = TypeVar("Item", bound=Hashable)
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two judges' verdicts on the same questions."""

    questions: int
    items: int
    confusion: Mapping[tuple[str, str], int]
    """Number of questions by pair of verdicts (first, second)."""
    accuracy: float
    accuracy_limits: tuple[float, float]
    kappa: float | None
    """Cohen's kappa; None if both judges always give the same single verdict, so that chance
    explains it all."""
    kappa_limits: tuple[float, float] | None


def agreement(
    verdicts: Mapping[Item, Sequence[tuple[str, str]]],
    *,
    seed: int,
    resamples: int = 10_000,
    confidence: float = 0.95,
) -> Agreement:
    """Measure agreement over the pairs of verdicts (first, second) on each item's questions.

    Raises:
        ValueError: there is no question, or `resamples` or `confidence` is out of range.
    """
    given = [pairs for pairs in verdicts.values() if pairs]
    if not given:
        raise ValueError("there are no verdicts to compare")
    confusion = Counter(pair for pairs in given for pair in pairs)
    names = sorted({name for pair in confusion for name in pair})
    cells = [(one, other) for one in names for other in names]
    counts = [Counter(pairs) for pairs in given]
    # Sorted by content, so that the names of items have no influence.
    rows = sorted(tuple(float(found[cell]) for cell in cells) for found in counts)
    sums = np.array(rows, dtype=np.float64)
    whole = sums.sum(axis=0, keepdims=True)
    shares = [
        bootstrap.limits_of(sums, of, seed=seed, resamples=resamples, confidence=confidence)
        for of in (_accuracy, _kappa)
    ]
    accuracy, kappa = float(_accuracy(whole)[0]), float(_kappa(whole)[0])
    return Agreement(
        questions=confusion.total(),
        items=len(given),
        confusion=dict(confusion),
        accuracy=accuracy,
        accuracy_limits=shares[0] or wilson(accuracy, len(given), confidence=confidence),
        kappa=None if math.isnan(kappa) else kappa,
        kappa_limits=None if math.isnan(kappa) else shares[1],
    )


def _accuracy(sums: Floats) -> Floats:
    """Return the share on the diagonal of each row's table."""
    table = _tables(sums)
    found: Floats = np.trace(table, axis1=1, axis2=2) / table.sum(axis=(1, 2))
    return found


def _kappa(sums: Floats) -> Floats:
    """Return kappa of each row's table; nan if chance alone would make all verdicts equal."""
    table = _tables(sums)
    total = table.sum(axis=(1, 2))
    chance = (table.sum(axis=1) * table.sum(axis=2)).sum(axis=1) / total**2
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (_accuracy(sums) - chance) / (1 - chance)
    return np.where(chance >= 1 - 1e-12, np.nan, found)


def _tables(sums: Floats) -> Floats:
    size = math.isqrt(sums.shape[1])
    return sums.reshape(-1, size, size)
