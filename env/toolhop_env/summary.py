"""From the attempts of many episodes to the figures of a report, with standard errors.

Errored episodes enter no mean; they are counted.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks import named
from toolhop_env.estimates import Estimate, Totals, figures, totals
from toolhop_env.levels import Verbosity
from toolhop_env.measures import CONDUCT, Scorer
from toolhop_env.reading import CallFormat
from toolhop_env.score import Conduct, Score
from toolhop_env.spending import Spent
from toolhop_env.statistics.passing import KINDS, PassRate, over_items, usual_ks
from toolhop_env.trace import Ending
from toolhop_env.verdicts import ErrorCode


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
    no_official: int = 0
    """Scored episodes without any official figure, though the benchmark has such measures."""
    no_reply: int = 0
    """Scored episodes without any reply, such as those that a file of answers lacks."""
    figures_proven: Mapping[str, Estimate | None] = field(default_factory=dict)
    """The answer measures over those."""
    passes: Mapping[str, Mapping[str, Sequence[PassRate]]] = field(default_factory=dict)
    """By binary answer measure and kind (pass@k, pass^k): the rates by k. Empty where no item was
    tried twice."""
    totals: Totals = field(default_factory=dict)
    """Of the same agent over all its modes: the same in each mode's summary."""

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
    whole: dict[Group, list[Attempt]] = defaultdict(list)
    for name, group in groups.items():
        whole[replace(name, mode="")] += group
    found = {name: totals(named(name.benchmark), group) for name, group in whole.items()}
    return [
        replace(_summary(name, group), totals=found[replace(name, mode="")])
        for name, group in groups.items()
    ]


def _summary(name: Group, group: Sequence[Attempt]) -> Summary:
    benchmark = named(name.benchmark)
    measures = (*benchmark.measures, *CONDUCT)
    scored = [(one, one.verdict) for one in group if isinstance(one.verdict, Score)]
    pairs = [(one.cluster, verdict) for one, verdict in scored]
    certain = {one.item for one in group if one.proven}
    proven = [(one.cluster, verdict) for one, verdict in scored if one.item in certain]
    certified = any(one.proven is not None for one in group)
    of_proven = figures(benchmark.measures, proven)
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
        no_official=_no_official(benchmark, [score for _, score in pairs]),
        passes=_passes(benchmark, scored),
        no_reply=sum(one.turns == 0 for one in conducts),
        figures_proven={m.name: of_proven[m.name] for m in benchmark.answer_measures},
        spent=_spent(conducts),
    )


def _passes(
    benchmark: Benchmark, scored: Sequence[tuple[Attempt, Score]]
) -> dict[str, dict[str, list[PassRate]]]:
    """Over the items, each with all its scored tries; those with fewer than k are left out."""
    found: dict[str, dict[str, list[PassRate]]] = {}
    for measure in benchmark.answer_measures:
        tried: dict[str, list[bool]] = defaultdict(list)
        for one, score in scored:
            if measure.binary and (parts := measure.of(score)) is not None:
                tried[one.item].append(bool(parts[0]))
        counts = [(len(tries), sum(tries)) for tries in tried.values()]
        ks = usual_ks(max((tries for tries, _ in counts), default=0))
        if ks:
            found[measure.name] = {
                kind: [rate for k in ks if (rate := over_items(counts, k, estimate)) is not None]
                for kind, estimate in KINDS.items()
            }
    return found


def _no_official(benchmark: Benchmark, scores: Iterable[Score]) -> int:
    measures = [one for one in benchmark.measures if one.scorer is Scorer.OFFICIAL]
    left_out = sum(all(one.of(score) is None for one in measures) for score in scores)
    return left_out if measures else 0


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
