"""From the attempts of many episodes to the figures of a report, with standard errors.

Errored episodes enter no mean; they are counted. Episodes of one item (its epochs) are not
independent, so errors are clustered by item: with m items, the standard error of a ratio of sums
R = sum(y) / sum(x) is sqrt(m / (m - 1) * sum((y_i - R x_i)^2)) / sum(x), where i runs over items.
For one episode an item and x = 1 this is the usual standard error of a mean.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.levels import Verbosity
from toolhop_env.measures import CONDUCT, MALFORMED_CALL, Measure
from toolhop_env.reading import CallFormat
from toolhop_env.score import Conduct, Parts, Score
from toolhop_env.spending import Spent
from toolhop_env.trace import Ending
from toolhop_env.verdicts import ErrorCode


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share or mean with its standard error."""

    value: float
    stderr: float | None
    """None where a single item gives none."""
    count: int
    """What was averaged over: episodes, calls or hops."""


@dataclass(frozen=True, slots=True)
class Group:
    """What the episodes of one summary have in common."""

    benchmark: str
    agent: str
    mode: str
    feedback: Verbosity
    call_format: CallFormat
    perturbation: str = "as-is"
    part: str = ""
    """The value of a facet that they are split by; empty where they are not."""
    judge: str = ""
    """Whose answers the figures are made of: those of several judges are never pooled."""

    @classmethod
    def of(cls, one: Attempt, part: str = "") -> Group:
        """The group that an attempt belongs to."""
        return cls(
            one.benchmark, one.agent, one.mode, one.feedback, one.call_format,
            one.perturbation, part, one.judge,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one agent in one mode, asked and shown its tools in one way."""

    group: Group
    episodes: int
    errored: int
    figures: Mapping[str, Estimate | None]
    """By measure: the benchmark's own in their order, then those of conduct."""
    errors: Mapping[ErrorCode, int]
    endings: Mapping[Ending, int]
    spent: Spent
    """What the scored episodes took in all, turns of a resumed prefix included."""
    proven: int | None = None
    """Scored episodes of items that certificates prove; None where none is known."""
    figures_proven: Mapping[str, Estimate | None] = field(default_factory=dict)
    """The answer measures over those."""

    @property
    def benchmark(self) -> Benchmark:
        """Whose measures the figures are."""
        return named(self.group.benchmark)


def summarize(
    attempts: Iterable[Attempt], part: Callable[[Attempt], str] = lambda _: ""
) -> list[Summary]:
    """Figures by benchmark, agent, mode, feedback, call format, perturbation and judge, in order
    of appearance.

    Every attempt counts: reduce them first (`toolhop_env.attempt.counting`).

    Args:
        attempts: those of which the figures are made.
        part: what else an attempt's figures are split by.
    """
    groups: dict[Group, list[Attempt]] = defaultdict(list)
    for one in attempts:
        groups[Group.of(one, part(one))].append(one)
    return [_summary(name, group) for name, group in groups.items()]


def _summary(name: Group, group: Sequence[Attempt]) -> Summary:
    benchmark = named(name.benchmark)
    measures = (*benchmark.measures, *CONDUCT, MALFORMED_CALL)
    pairs = [(one.item, one.verdict) for one in group if isinstance(one.verdict, Score)]
    certain = {one.item for one in group if one.proven}
    proven = [(item, one) for item, one in pairs if item in certain]
    certified = any(one.proven is not None for one in group)
    conducts = [score.conduct for _, score in pairs]
    errors: Counter[ErrorCode] = Counter()
    for one in conducts:
        errors.update(one.errors)
    return Summary(
        group=name,
        episodes=len(group),
        errored=len(group) - len(pairs),
        figures=figures(measures, pairs),
        errors=dict(errors),
        endings=dict(Counter(one.ending for one in conducts)),
        proven=len(proven) if certified else None,
        figures_proven={m.name: estimate(m, proven) for m in benchmark.answer_measures},
        spent=_spent(conducts),
    )


def _spent(conducts: Sequence[Conduct]) -> Spent:
    """What the episodes took in all."""
    return Spent(
        replies=sum(one.turns - one.cached_replies for one in conducts),
        requests=sum(one.turns - one.cached_replies + one.retries for one in conducts),
        input_tokens=sum(one.input_tokens for one in conducts),
        output_tokens=sum(one.output_tokens for one in conducts),
        prompt_cached_tokens=sum(one.prompt_cached_tokens for one in conducts),
        cost_usd=_total(one.cost_usd for one in conducts),
        cached_replies=sum(one.cached_replies for one in conducts),
        saved_tokens=sum(one.saved_input_tokens + one.saved_output_tokens for one in conducts),
        saved_usd=_total(one.saved_usd for one in conducts),
        calls=sum(one.calls for one in conducts),
    )


def _total(prices: Iterable[float | None]) -> float | None:
    """Their sum, whatever their order; None where one is not known."""
    given = list(prices)
    known = [price for price in given if price is not None]
    return math.fsum(known) if len(known) == len(given) else None


Sums: TypeAlias = Mapping[str, Parts]
"""Numerator and denominator by item."""


def figures(
    measures: Sequence[Measure], scores: Sequence[tuple[str, Score]]
) -> dict[str, Estimate | None]:
    """Each measure over scores, each with its item, by its name."""
    sums = {one.name: _sums(one, scores) for one in measures}
    return {one.name: _estimate([sums[name] for name in one.mean_of or (one.name,)])
            for one in measures}  # fmt: skip


def estimate(measure: Measure, scores: Iterable[tuple[str, Score]]) -> Estimate | None:
    """One measure over scores, each with its item; None where nothing was counted.

    Sums are exact before they are rounded (`math.fsum`): the order in which episodes ended
    changes no figure. An episode without a figure is left out.
    """
    return _estimate([_sums(measure, scores)])


def _sums(measure: Measure, scores: Iterable[tuple[str, Score]]) -> Sums:
    parts: dict[str, list[Parts]] = defaultdict(list)
    for item, one in scores:
        found = measure.of(one)
        if found is not None and found[1]:
            parts[item].append(found)
    return {
        item: (math.fsum(y for y, _ in group), math.fsum(x for _, x in group))
        for item, group in parts.items()
    }


def _estimate(ratios: Sequence[Sums]) -> Estimate | None:
    """The mean of ratios of sums; of one ratio that ratio. None where one counts nothing.

    The standard error is that of the mean's linear part, whose share of an item i is the mean over
    the ratios of (y_i - R x_i) / sum(x).
    """
    totals = [math.fsum(x for _, x in sums.values()) for sums in ratios]
    if not all(totals):
        return None
    values = [
        math.fsum(y for y, _ in sums.values()) / total
        for sums, total in zip(ratios, totals, strict=True)
    ]
    items = dict.fromkeys(item for sums in ratios for item in sums)
    stderr = None
    if len(items) > 1:
        shares = [
            math.fsum(
                (sums[item][0] - value * sums[item][1]) / total
                for sums, value, total in zip(ratios, values, totals, strict=True)
                if item in sums
            )
            / len(ratios)
            for item in items
        ]
        spread = math.fsum(one**2 for one in shares)
        stderr = math.sqrt(len(items) / (len(items) - 1) * spread)
    return Estimate(math.fsum(values) / len(values), stderr, round(min(totals)))
