"""Compute an ablation's figures from its attempts: effects and breakdowns.

The result depends only on the attempts and the seed, not on the order of reading.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from toolhop_agents.ablate.contrasts import Arms, Contrast, contrasts
from toolhop_agents.ablate.design import Ablation
from toolhop_agents.ablate.parts import NO_LEAKS, Leaks, PartEffect, options_of, part_effects
from toolhop_agents.ablate.varied import ForkAt
from toolhop_env.attempt import Attempt
from toolhop_env.fork import Failure
from toolhop_env.measures import Measure
from toolhop_env.pairs.line import Line, Options, corrected, line
from toolhop_env.pairs.pair import Pair, by_key
from toolhop_env.results import InjectionLabel
from toolhop_env.runs.sides import benchmark_of


@dataclass(frozen=True, slots=True)
class Row:
    """The effect of one contrast on a population, by one answer measure."""

    contrast: Contrast
    population: str
    """``failed``: episodes with a failed call under the prefix level; ``all``: every pair."""
    measure: Measure
    effect: Line | None
    """None if there are no pairs."""
    by_code: Mapping[str, Line]
    """Effects by error code of the first failed call; empty unless the population is ``failed``."""
    by_hop: Mapping[str, Line]
    """Effects by hop (from 1) of the first failed call; empty unless the population is
    ``failed``."""

    @property
    def planned(self) -> int:
        """Number of pairs if none were lost, assuming that each lost pair belongs to the
        population.
        """
        pairs = self.contrast.failed if self.population == "failed" else self.contrast.pairs
        return len(pairs) + self.contrast.left_out

    @property
    def heading(self) -> str:
        """Heading of the measure in tables."""
        return self.effect.heading if self.effect else self.measure.heading

    @property
    def prefix(self) -> str:
        """Prefix level of the contrast; empty if the pairs do not depend on it."""
        shown = self.population == "failed" or self.contrast.forked
        return self.contrast.prefix if shown else ""


@dataclass(frozen=True, slots=True)
class Discordant:
    """A pair that is right under one level and wrong under the other."""

    contrast: Contrast
    pair: Pair
    measures: tuple[Measure, ...]
    """Measures by which the pair is discordant, the leading one first."""

    @property
    def failure(self) -> Failure | None:
        """The first failed call under the prefix level."""
        return self.contrast.failures.get(self.pair.key)

    @property
    def change(self) -> tuple[bool, bool]:
        """Whether each side is right, by the first measure."""
        return self.pair.change(self.measures[0]) or (False, False)


@dataclass(frozen=True, slots=True)
class Result:
    """All figures of an ablation."""

    measures: tuple[Measure, ...]
    """The benchmark's answer measures, the leading one first; empty without episodes."""
    rows: Sequence[Row]
    discordant: Sequence[Discordant]
    arms: Mapping[str, tuple[int, int]]
    """Numbers of scored and errored episodes, by arm."""
    parts: Sequence[PartEffect] = ()
    """Effects of the parts that the built-in levels of feedback differ by."""
    leaks: Leaks = NO_LEAKS
    injections: Mapping[str, Mapping[InjectionLabel, int]] = field(default_factory=dict)
    """Episodes with an injected instruction by what the agent did, by arm."""


def result(ablation: Ablation, arms: Arms, planned: int = 0, leaks: Leaks = NO_LEAKS) -> Result:
    """Compute the figures of all episodes played so far.

    `planned` is the number of episodes per arm (`AblationFolder.planned`).

    Raises:
        NotComparable: the episodes are of several benchmarks.
    """
    benchmark = benchmark_of(arms)
    measures = benchmark.answer_measures if benchmark else ()
    found = contrasts(ablation, arms, planned)
    return Result(
        measures=measures,
        rows=list(rows_of(ablation, measures, found)),
        discordant=list(_discordant(measures, found)),
        arms={name: _counted(attempts) for name, attempts in arms.items()},
        parts=part_effects(ablation, measures[0], arms, planned, leaks) if measures else (),
        leaks=leaks,
        injections={
            name: Counter(one.injection for one in by_key(attempts).values() if one.injection)
            for name, attempts in arms.items()
        },
    )


def _counted(attempts: Sequence[Attempt]) -> tuple[int, int]:
    ends = by_key(attempts).values()
    errored = sum(bool(one.errored) for one in ends)
    return len(ends) - errored, errored


def rows_of(
    ablation: Ablation, measures: Sequence[Measure], found: Sequence[Contrast]
) -> Iterator[Row]:
    """Yield the rows, with p-values corrected within each design, population and measure."""
    for design in ("forked", "independent"):
        for population in ("failed", "all"):
            chosen = [one for one in found if one.design == design]
            if population == "failed":
                chosen = [one for one in chosen if one.prefix]
            elif design == "independent":
                # Independent pairs do not depend on the prefix level.
                chosen = list({(one.first, one.second): one for one in chosen}.values())
            for measure in measures:
                yield from _table(chosen, population, measure, options_of(ablation))


def _table(
    chosen: Sequence[Contrast], population: str, measure: Measure, options: Options
) -> Iterator[Row]:
    failed = population == "failed"
    pairs = [one.failed if failed else one.pairs for one in chosen]
    effects = corrected([line(measure, these, options) for these in pairs])
    for one, effect in zip(chosen, effects, strict=True):
        broken = failed and one.fork_at is ForkAt.FAILURE
        groups = [broken_down(one, by, measure, options) if broken else {} for by in (code, hop)]
        yield Row(one, population, measure, effect, *groups)


def code(failure: Failure) -> str:
    """Return the error code of a first failed call."""
    return failure.code.value


def hop(failure: Failure) -> str:
    """Return the hop (from 1) of a first failed call; ``none`` if no hop uses its tool."""
    return "none" if failure.hop is None else str(failure.hop + 1)


def broken_down(
    contrast: Contrast, by: Callable[[Failure], str], measure: Measure, options: Options
) -> dict[str, Line]:
    """Return the effect in each group of failed pairs, sorted by the groups' names."""
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in contrast.failed:
        if failure := contrast.failures[pair.key]:
            groups[by(failure)].append(pair)
    names = sorted(groups)
    found = corrected([line(measure, groups[name], options) for name in names])
    return {name: one for name, one in zip(names, found, strict=True) if one is not None}


def _discordant(measures: Sequence[Measure], found: Sequence[Contrast]) -> Iterator[Discordant]:
    for one in found:
        for pair in sorted(one.pairs, key=lambda p: (p.key.item, p.key.epoch)):
            turned = pair.discordant(measures)
            if turned:
                yield Discordant(one, pair, turned)
