"""What a comparison shows: shares right, answers turned, test, interval, what could be seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from agents.ablate.pairs import Pair
from agents.statistics import bootstrap, paired
from agents.statistics.multiple import holm
from agents.statistics.permutation import sign_flip


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
    low: float
    high: float
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

    The interval is Tango's; with several pairs an item it is a bootstrap over items, as epochs of
    one item are not independent.
    """
    if not pairs:
        return None
    sides = [pair.right(rule) for pair in pairs]
    found = paired.difference(sides, confidence=confidence)
    by_item = _by_item(pairs, rule)
    low, high, p_value = found.low, found.high, found.p_value
    if len(by_item) < len(pairs):
        interval = bootstrap.clustered(
            by_item, seed=seed, confidence=confidence, resamples=resamples
        )
        low, high = interval.low, interval.high
        sums = [sum(after - before for before, after in sides) for sides in by_item.values()]
        p_value = sign_flip(sums, seed=seed)
    turned = (found.gained + found.lost) / found.n
    return Effect(
        pairs=found.n,
        items=len(by_item),
        first=found.before,
        second=found.after,
        to_incorrect=found.lost,
        to_correct=found.gained,
        difference=found.difference,
        low=low,
        high=high,
        p_value=p_value,
        detectable=_detectable(len(by_item), turned),
    )


@cache
def _detectable(items: int, turned: float) -> float:
    # Asked for every group of every breakdown, of which many are alike.
    return paired.smallest_detectable(items, turned)


def _by_item(pairs: Sequence[Pair], rule: str) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for pair in pairs:
        before, after = pair.right(rule)
        found[pair.item].append((float(before), float(after)))
    return dict(found)


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
