"""Scores of many episodes as sums by item: exact, and no larger for more epochs.

A figure needs of each item its sums alone. They are kept as few numbers that add up to them without
rounding, so that figures are those of all scores at once, in whatever order these come.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.measures import CONDUCT, Measure, Scorer
from toolhop_env.score import Conduct, Score
from toolhop_env.spending import Spent
from toolhop_env.trace import Ending
from toolhop_env.verdicts import ErrorCode

HELD = 8
"""Scores of an item that are held before they are summed: where items are tried once, nothing is
smaller than the score itself."""

Rank: TypeAlias = tuple[int, int, str]
"""Where an attempt stands among others."""
Code = TypeVar("Code", ErrorCode, Ending)


@dataclass(slots=True)
class ItemSums:
    """All attempts at one item, of one agent in one mode and so on."""

    benchmark: Benchmark
    item: str
    cluster: str
    mode: str
    facets: Mapping[str, str]
    first: Rank
    """Of its attempts."""
    attempts: int = 0
    scored: int = 0
    certified: bool = False
    """Whether it is known if the item is proven."""
    proven: bool = False
    no_official: int = 0
    no_reply: int = 0
    spent: Spent = field(default_factory=Spent)
    """Without costs."""
    errors: dict[ErrorCode, tuple[int, Rank]] = field(default_factory=dict)
    """How often each was met, and where first."""
    endings: dict[Ending, tuple[int, Rank]] = field(default_factory=dict)
    costs: list[float] | None = field(default_factory=list)
    """Numbers that add up to the cost; None where a price is not known."""
    saved: list[float] | None = field(default_factory=list)
    _held: list[Score] = field(default_factory=list)
    _sums: dict[str, tuple[list[float], list[float]]] = field(default_factory=dict)
    """By measure, numerators and denominators of what is not held any more."""
    _tries: dict[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, one: Attempt, rank: Rank) -> ItemSums:
        """Of the item of an attempt, without any yet."""
        return cls(named(one.benchmark), one.item, one.cluster, one.mode, one.facets, rank)

    def add(self, one: Attempt, rank: Rank) -> None:
        """Take in an attempt."""
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
        """Numbers that add up to the numerators of a measure, and to its denominators."""
        held = [
            found for one in self._held if (found := measure.of(one)) and (found[1] or measure.zero)
        ]
        above, below = self._sums.get(measure.name, ((), ()))
        return [*above, *(y for y, _ in held)], [*below, *(x for _, x in held)]

    def tries(self, measure: Measure) -> tuple[int, int]:
        """Of a binary answer measure: tries with a figure, and those that succeeded."""
        held = [bool(found[0]) for one in self._held if (found := measure.of(one)) is not None]
        tries, right = self._tries.get(measure.name, (0, 0))
        return tries + len(held), right + sum(held)

    def tokens(self) -> Spent:
        """What the scored episodes took in all, without costs."""
        return self.spent + _spent([one.conduct for one in self._held])

    def _sum_up(self) -> None:
        for measure in (*self.benchmark.measures, *CONDUCT):
            above, below = self.parts(measure)
            if below:
                self._sums[measure.name] = exact(above), exact(below)
        for measure in self.benchmark.answer_measures:
            if measure.binary:
                self._tries[measure.name] = self.tries(measure)
        self.spent = self.tokens()
        self._held.clear()


def in_run(one: Attempt) -> Rank:
    """Where an attempt stands among those of its run, however they are stored."""
    return 0, one.attempt, one.file


def exact(values: Sequence[float]) -> list[float]:
    """A few numbers with the very sum of many: its value, then what rounding took from it."""
    found: list[float] = []
    while left := math.fsum([*values, *(-one for one in found)]):
        found.append(left)
        if not math.isfinite(left):
            break
    return found or [0.0]


def in_order(counts: Iterable[Mapping[Code, tuple[int, Rank]]]) -> dict[Code, int]:
    """Counts of several items, those first that were met first."""
    whole: dict[Code, tuple[int, Rank]] = {}
    for of_one in counts:
        for name, (count, rank) in of_one.items():
            whole[name] = _more(whole.get(name), count, rank)
    return {name: count for name, (count, rank) in sorted(whole.items(), key=lambda one: one[1][1])}


def _more(before: tuple[int, Rank] | None, count: int, rank: Rank) -> tuple[int, Rank]:
    return (before[0] + count, min(before[1], rank)) if before else (count, rank)


def _with(prices: list[float] | None, price: float | None) -> list[float] | None:
    """The same sum with one more, in few numbers; None where one is not known."""
    if prices is None or price is None:
        return None
    if price:
        prices.append(price)
    return exact(prices) if len(prices) > 2 * HELD else prices


def _has_no_official(benchmark: Benchmark, score: Score) -> bool:
    official = [one for one in benchmark.measures if one.scorer is Scorer.OFFICIAL]
    return bool(official) and all(one.of(score) is None for one in official)


def _spent(conducts: Sequence[Conduct]) -> Spent:
    """What episodes took in all, without costs."""
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
    """Attempts of one benchmark as the sums of their items, each in its mode."""
    found: dict[tuple[object, ...], ItemSums] = {}
    for number, one in enumerate(attempts):
        add(found, one, (number, 0, ""))
    return [*found.values()]


def add(items: dict[tuple[object, ...], ItemSums], one: Attempt, rank: Rank) -> None:
    """Take in an attempt with others at its item, in its mode."""
    key = (one.item, one.cluster, one.mode, *sorted(one.facets.items()))
    if key not in items:
        items[key] = ItemSums.of(one, rank)
    items[key].add(one, rank)
