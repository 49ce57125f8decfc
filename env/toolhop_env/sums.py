"""Scores of many episodes as exact per-item sums, whose size does not grow with epochs.

Figures need only the sums of each item. They are stored as a few numbers that add up to them
without rounding, so that figures equal those of all scores at once, in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.measures import CONDUCT, DIVERGENCES, Measure, Scorer
from toolhop_env.score import Conduct, Score
from toolhop_env.spending import Spent
from toolhop_env.trace import Ending
from toolhop_env.verdicts import ErrorCode

HELD = 8
"""Scores of an item that are held before they are summed; if items are tried once, the score
itself is the smallest form."""

Rank: TypeAlias = tuple[int, int, str]
"""Position of an attempt among others, for sorting."""
Code = TypeVar("Code", ErrorCode, Ending)


@dataclass(slots=True)
class ItemSums:
    """Sums over the attempts at one item in one group (agent, mode and so on)."""

    benchmark: Benchmark
    item: str
    cluster: str
    mode: str
    facets: Mapping[str, str]
    first: Rank
    """Rank of the item's first attempt."""
    attempts: int = 0
    scored: int = 0
    certified: bool = False
    """Whether it is known whether the item is proven."""
    proven: bool = False
    no_official: int = 0
    no_reply: int = 0
    spent: Spent = field(default_factory=Spent)
    """Spending of the summed scores, without costs."""
    errors: dict[ErrorCode, tuple[int, Rank]] = field(default_factory=dict)
    """Count of each error code, and the rank at which it first occurred."""
    endings: dict[Ending, tuple[int, Rank]] = field(default_factory=dict)
    costs: list[float] | None = field(default_factory=list)
    """Numbers that add up to the cost; None if a price is unknown."""
    saved: list[float] | None = field(default_factory=list)
    _held: list[Score] = field(default_factory=list)
    _sums: dict[str, tuple[list[float], list[float]]] = field(default_factory=dict)
    """Numerators and denominators by measure, for the scores no longer held."""
    _tries: dict[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, one: Attempt, rank: Rank) -> ItemSums:
        """Create empty sums for the item of an attempt."""
        return cls(named(one.benchmark), one.item, one.cluster, one.mode, one.facets, rank)

    def add(self, one: Attempt, rank: Rank) -> None:
        """Add an attempt."""
        self.attempts += 1
        self.first = min(self.first, rank)
        self.certified = self.certified or one.proven is not None
        self.proven = self.proven or bool(one.proven)
        if (score := one.score) is None:
            return
        self.scored += 1
        conduct = score.conduct
        for code, count in conduct.errors.items():
            self.errors[code] = _more(self.errors.get(code), count, rank)
        self.endings[conduct.ending] = _more(self.endings.get(conduct.ending), 1, rank)
        self.no_reply += conduct.turns == 0
        self.no_official += _has_no_official(self.benchmark, score)
        self.costs = _with(self.costs, conduct.cost_usd)
        self.saved = _with(self.saved, conduct.saved_usd)
        self._held.append(score)
        if len(self._held) >= HELD:
            self._sum_up()

    def parts(self, measure: Measure) -> tuple[list[float], list[float]]:
        """Return numbers that add up to a measure's numerators, and to its denominators."""
        held = [
            found for one in self._held if (found := measure.of(one)) and (found[1] or measure.zero)
        ]
        above, below = self._sums.get(measure.name, ((), ()))
        return [*above, *(y for y, _ in held)], [*below, *(x for _, x in held)]

    def tries(self, measure: Measure) -> tuple[int, int]:
        """Return the numbers of tries and of successes for a binary answer measure."""
        held = [bool(found[0]) for one in self._held if (found := measure.of(one)) is not None]
        tries, right = self._tries.get(measure.name, (0, 0))
        return tries + len(held), right + sum(held)

    def tokens(self) -> Spent:
        """Return the total spending of the scored episodes, without costs."""
        return self.spent + _spent([one.conduct for one in self._held])

    def _sum_up(self) -> None:
        for measure in (*self.benchmark.measures, *CONDUCT, *DIVERGENCES):
            above, below = self.parts(measure)
            if below:
                self._sums[measure.name] = exact(above), exact(below)
        for measure in self.benchmark.answer_measures:
            if measure.binary:
                self._tries[measure.name] = self.tries(measure)
        self.spent = self.tokens()
        self._held.clear()


def in_run(one: Attempt) -> Rank:
    """Return the rank of an attempt in its run, independent of how traces are stored."""
    return 0, one.attempt, one.file


def exact(values: Sequence[float]) -> list[float]:
    """Return a few numbers with exactly the same sum: its rounded value, then the remainders."""
    found: list[float] = []
    while left := math.fsum([*values, *(-one for one in found)]):
        found.append(left)
        if not math.isfinite(left):
            break
    return found or [0.0]


def in_order(counts: Iterable[Mapping[Code, tuple[int, Rank]]]) -> dict[Code, int]:
    """Add up the counts of several items, ordered by first occurrence."""
    whole: dict[Code, tuple[int, Rank]] = {}
    for of_one in counts:
        for name, (count, rank) in of_one.items():
            whole[name] = _more(whole.get(name), count, rank)
    return {name: count for name, (count, rank) in sorted(whole.items(), key=lambda one: one[1][1])}


def _more(before: tuple[int, Rank] | None, count: int, rank: Rank) -> tuple[int, Rank]:
    return (before[0] + count, min(before[1], rank)) if before else (count, rank)


def _with(prices: list[float] | None, price: float | None) -> list[float] | None:
    """Add a price to numbers with the same sum, keeping them few; None if any price is unknown."""
    if prices is None or price is None:
        return None
    if price:
        prices.append(price)
    return exact(prices) if len(prices) > 2 * HELD else prices


def _has_no_official(benchmark: Benchmark, score: Score) -> bool:
    official = [one for one in benchmark.measures if one.scorer is Scorer.OFFICIAL]
    return bool(official) and all(one.of(score) is None for one in official)


def _spent(conducts: Sequence[Conduct]) -> Spent:
    """Return the total spending of episodes, without costs."""
    return Spent(
        replies=sum(one.turns - one.cached_replies for one in conducts),
        requests=sum(one.turns - one.cached_replies + one.retries for one in conducts),
        input_tokens=sum(one.input_tokens for one in conducts),
        output_tokens=sum(one.output_tokens for one in conducts),
        prompt_cached_tokens=sum(one.prompt_cached_tokens for one in conducts),
        cached_replies=sum(one.cached_replies for one in conducts),
        saved_tokens=sum(one.saved_input_tokens + one.saved_output_tokens for one in conducts),
        calls=sum(one.calls for one in conducts),
    )


def sums_of(attempts: Iterable[Attempt]) -> list[ItemSums]:
    """Return the sums of attempts of one benchmark, by item and mode."""
    found: dict[tuple[object, ...], ItemSums] = {}
    for number, one in enumerate(attempts):
        add(found, one, (number, 0, ""))
    return [*found.values()]


def add(items: dict[tuple[object, ...], ItemSums], one: Attempt, rank: Rank) -> None:
    """Add an attempt to the sums of its item and mode."""
    key = (one.item, one.cluster, one.mode, *sorted(one.facets.items()))
    if key not in items:
        items[key] = ItemSums.of(one, rank)
    items[key].add(one, rank)
