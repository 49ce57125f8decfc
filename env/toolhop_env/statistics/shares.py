"""The difference of two shares over pairs, several of which may belong to one item.

Epochs of one item are not independent, so the interval and the test are over items if any item has
several pairs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from toolhop_env.statistics import bootstrap, paired
from toolhop_env.statistics.permutation import sign_flip

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ShareDifference:
    """Shares before and after; the interval and the test are over items."""

    found: paired.PairedDifference
    """Difference over the pairs, ignoring items; its own interval and test are valid only if
    each item has one pair."""
    items: int
    low: float | None
    """Lower limit of the interval; None if there are too few items to resample."""
    high: float | None
    p_value: float
    resampled: bool
    """Whether the interval is a bootstrap interval rather than Tango's."""

    @property
    def one_each(self) -> bool:
        """Whether each item has exactly one pair."""
        return self.items == self.found.n


def difference(
    values: Mapping[Item, Sequence[tuple[bool, bool]]],
    *,
    seed: int,
    resamples: int = 10_000,
    confidence: float = 0.95,
) -> ShareDifference:
    """Return the difference over the pairs (before, after) of each item.

    With one pair per item: the exact McNemar test and Tango's interval. With several: the exact
    test that flips whole items, and the bootstrap over items. If no pair changed, or all changed
    alike, there is nothing to resample: one pair per item then represents its epochs, with Tango's
    interval.

    Raises:
        ValueError: there is no pair, or `resamples` or `confidence` is out of range.
    """
    values = {item: pairs for item, pairs in values.items() if pairs}
    found = paired.difference(
        [pair for pairs in values.values() for pair in pairs], confidence=confidence
    )
    items = len(values)
    if items == found.n:
        return ShareDifference(found, items, found.low, found.high, found.p_value, resampled=False)
    numbers = {
        item: [((float(before), 1.0), (float(after), 1.0)) for before, after in pairs]
        for item, pairs in values.items()
    }
    sums = bootstrap.cluster_sums(numbers)
    p_value = sign_flip((sums[:, 2] - sums[:, 0]).tolist(), seed=seed, resamples=resamples)
    limits = bootstrap.limits(sums, seed=seed, resamples=resamples, confidence=confidence)
    if limits is not None:
        return ShareDifference(found, items, *limits, p_value, resampled=True)
    low: float | None = None
    high: float | None = None
    if {found.gained, found.lost} <= {0, found.n}:
        gained, lost = (items if changed else 0 for changed in (found.gained, found.lost))
        low, high = paired.score_interval(gained, lost, items, confidence=confidence)
    return ShareDifference(found, items, low, high, p_value, resampled=False)
