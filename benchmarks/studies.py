"""Studies with a known effect: does an interval cover it, and does a test stay silent at none?

A made study draws, for each item, how likely each condition is to succeed (`Effect`), and then
plays every epoch. The true difference is known, so the share of studies whose interval covers it
and the share whose test rejects can be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Pair: TypeAlias = tuple[bool, bool]
Study: TypeAlias = dict[int, list[Pair]]
"""Pairs (right before, right after) by item, one an epoch."""


@dataclass(frozen=True, slots=True)
class Effect:
    """How two conditions differ over items, and how many of them a study has.

    An item is of one of four kinds: both conditions solve it, only the one after, only the one
    before, or neither. With `noise` 0 that is what happens in every epoch; with noise each try
    turns out the other way with that chance, on its own.
    """

    items: int
    gained: float
    """Chance that an item is solved after only."""
    lost: float
    """Chance that an item is solved before only."""
    both: float = 0.3
    epochs: int = 1
    noise: float = 0.0

    def __post_init__(self) -> None:
        if min(self.gained, self.lost, self.both) < 0 or self.gained + self.lost + self.both > 1:
            raise ValueError(f"{self} has chances below 0 or above 1 in sum")
        if self.items < 1 or self.epochs < 1 or not 0 <= self.noise <= 1:
            raise ValueError(f"{self} needs an item, an epoch, and a noise from 0 to 1")

    @property
    def difference(self) -> float:
        """The true difference, after - before, over all items there could be."""
        return (self.gained - self.lost) * (1 - 2 * self.noise)


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of made studies."""

    hits: int
    studies: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.hits / self.studies


def studies(effect: Effect, *, count: int, seed: int) -> Iterator[Study]:
    """`count` studies of one effect; the same for the same seed."""
    rng = np.random.default_rng(seed)
    chances = [effect.both, effect.gained, effect.lost]
    chances.append(max(0.0, 1 - sum(chances)))
    for _ in range(count):
        kinds = rng.choice(4, size=effect.items, p=np.array(chances) / sum(chances))
        turned = rng.random((effect.items, effect.epochs, 2)) < effect.noise
        before = turned[:, :, 0] ^ ((kinds == 0) | (kinds == 2))[:, None]
        after = turned[:, :, 1] ^ ((kinds == 0) | (kinds == 1))[:, None]
        yield {
            item: list(zip(before[item].tolist(), after[item].tolist(), strict=True))
            for item in range(effect.items)
        }


def coverage(
    effect: Effect,
    interval: Callable[[Study], tuple[float, float]],
    *,
    count: int = 1000,
    seed: int,
) -> Rate:
    """How many intervals hold the true difference."""
    hits = 0
    for study in studies(effect, count=count, seed=seed):
        low, high = interval(study)
        hits += low <= effect.difference <= high
    return Rate(hits, count)


def rejections(
    effect: Effect,
    test: Callable[[Study], float],
    *,
    alpha: float = 0.05,
    count: int = 1000,
    seed: int,
) -> Rate:
    """How many tests reject at `alpha`: false alarms where the true difference is 0, else power."""
    hits = sum(test(study) <= alpha for study in studies(effect, count=count, seed=seed))
    return Rate(hits, count)


def pooled(study: Study) -> list[Pair]:
    """A study's pairs without their items, for methods that take one pair an item."""
    return [pair for pairs in study.values() for pair in pairs]
