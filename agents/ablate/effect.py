"""What a comparison shows: shares right, answers turned, test, interval, what could be seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from agents.ablate.pairs import Pair
from agents.statistics import paired
from agents.statistics.multiple import holm
from agents.statistics.shares import difference


@dataclass(frozen=True, slots=True)
class Effect:
    """The second level against the first over the same pairs; shares are from 0 to 1."""

    pairs: int
    items: int
    first: float
    """Share right under the first level."""
    second: float
    to_incorrect: int
    """Pairs right under the first level and wrong under the second."""
    to_correct: int
    """Pairs wrong under the first level and right under the second."""
    difference: float
    """`second` - `first`."""
    low: float | None
    """None where there are too few items to resample."""
    high: float | None
    p_value: float
    """Two-sided: exact McNemar; with several pairs an item the exact test by flipping the signs
    of whole items, which is the same where there is one."""
    detectable: float
    """Smallest difference that so many items, with so many turned answers, would show with a
    chance of 0.8 at the 0.05 level. Infinite where none would."""
    corrected: float | None = None
    """The p-value by Holm over the tests of one table."""

    @property
    def share_to_incorrect(self) -> float:
        """ToolHop's change from correct to incorrect (paper table 5)."""
        return self.to_incorrect / self.pairs

    @property
    def share_to_correct(self) -> float:
        """ToolHop's change from incorrect to correct (paper table 5)."""
        return self.to_correct / self.pairs


def effect(
    pairs: Sequence[Pair],
    rule: str,
    *,
    seed: int,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> Effect | None:
    """The effect over `pairs` by an answer rule; None without pairs.

    Interval and test are those of `agents.statistics.shares`.
    """
    if not pairs:
        return None
    by_item: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for pair in pairs:
        by_item[pair.item].append(pair.right(rule))
    shares = difference(by_item, seed=seed, confidence=confidence, resamples=resamples)
    found = shares.found
    turned = (found.gained + found.lost) / found.n
    return Effect(
        pairs=found.n,
        items=shares.items,
        first=found.before,
        second=found.after,
        to_incorrect=found.lost,
        to_correct=found.gained,
        difference=found.difference,
        low=shares.low,
        high=shares.high,
        p_value=shares.p_value,
        detectable=_detectable(shares.items, turned),
    )


@cache
def _detectable(items: int, turned: float) -> float:
    # Asked for every group of every breakdown, of which many are alike.
    return paired.smallest_detectable(items, turned)


def corrected(effects: Iterable[Effect | None]) -> list[Effect | None]:
    """The effects with their p-values corrected for one another, in the same order."""
    given = list(effects)
    values = iter(holm([one.p_value for one in given if one is not None]))
    return [None if one is None else replace(one, corrected=next(values)) for one in given]


def by_code(pair: Pair) -> str:
    """The error code of a pair's first failed call."""
    return pair.failure.code.value if pair.failure else "none"


def by_hop(pair: Pair) -> str:
    """The hop (from 1) of a pair's first failed call; a call of no hop's tool has none."""
    if pair.failure is None or pair.failure.hop is None:
        return "none"
    return str(pair.failure.hop + 1)


def broken_down(
    pairs: Sequence[Pair],
    group: Callable[[Pair], str],
    rule: str,
    *,
    seed: int,
    confidence: float = 0.95,
) -> Mapping[str, Effect]:
    """The effect in each group of pairs, in order of the groups' names."""
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[group(pair)].append(pair)
    names = sorted(groups)
    found = corrected(effect(groups[n], rule, seed=seed, confidence=confidence) for n in names)
    return {name: one for name, one in zip(names, found, strict=True) if one is not None}
