"""An ablation's figures, from its attempts alone: effects, breakdowns, and what forks saved.

Pure and the same for the same attempts and seed, in whatever order they were read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_agents.ablate.contrasts import Arms, Contrast, contrasts
from toolhop_agents.ablate.design import Ablation
from toolhop_env.attempt import Attempt
from toolhop_env.fork import Failure
from toolhop_env.measures import Measure
from toolhop_env.pairs.line import Line, Options, corrected, line
from toolhop_env.pairs.pair import Pair, by_key
from toolhop_env.runs.sides import benchmark_of
from toolhop_env.spending import Spent


@dataclass(frozen=True, slots=True)
class Row:
    """One contrast over one population by one measure of the answers."""

    contrast: Contrast
    population: str
    """``failed``: episodes with a failed call under the prefix level; ``all``: every pair."""
    measure: Measure
    effect: Line | None
    """None without a pair."""
    by_code: Mapping[str, Line]
    """By the error code of the first failed call; empty but for ``failed``."""
    by_hop: Mapping[str, Line]
    """By the hop (from 1) of the first failed call; empty but for ``failed``."""

    @property
    def planned(self) -> int:
        """Pairs there would be if none were lost; of those that are, each may have failed."""
        pairs = self.contrast.failed if self.population == "failed" else self.contrast.pairs
        return len(pairs) + self.contrast.left_out

    @property
    def heading(self) -> str:
        """What a table calls the measure."""
        return self.effect.heading if self.effect else self.measure.heading

    @property
    def prefix(self) -> str:
        """The contrast's; empty where the pairs are the same whatever the prefix level."""
        shown = self.population == "failed" or self.contrast.forked
        return self.contrast.prefix if shown else ""


@dataclass(frozen=True, slots=True)
class Discordant:
    """A pair that is right under one level and wrong under the other."""

    contrast: Contrast
    pair: Pair
    measures: tuple[Measure, ...]
    """By which; the leading one stands first."""

    @property
    def failure(self) -> Failure | None:
        """The first failed call under the prefix level."""
        return self.contrast.failures.get(self.pair.key)

    @property
    def change(self) -> tuple[bool, bool]:
        """Whether each side is right, by the first of the measures."""
        return self.pair.change(self.measures[0]) or (False, False)


@dataclass(frozen=True, slots=True)
class Saving:
    """What forking one level's episodes to another took, beside playing the other from the start.

    Counted over the attempts that count. `kept` and `unplayed` are what an independent run asks
    for again: the turns up to the first failed call, and episodes without one.
    """

    prefix: str
    level: str
    branches: int
    asked: Spent
    """What the branches took after the fork."""
    kept: Spent
    unplayed: Spent
    counted: Spent | None
    """What the independent run of `level` took, where it was played."""

    @property
    def independent(self) -> Spent:
        """What the same episodes take when each is played from the start."""
        return self.asked + self.kept + self.unplayed

    @property
    def saved(self) -> Spent:
        """What was not asked for again."""
        return self.kept + self.unplayed


@dataclass(frozen=True, slots=True)
class Result:
    """All figures of an ablation."""

    measures: tuple[Measure, ...]
    """The benchmark's measures of an answer, the leading one first; none before an episode."""
    rows: Sequence[Row]
    discordant: Sequence[Discordant]
    savings: Sequence[Saving]
    arms: Mapping[str, tuple[int, int]]
    """By arm: episodes that have a score, and errored ones."""


def result(ablation: Ablation, arms: Arms, planned: int = 0) -> Result:
    """The figures; what the arms do not hold yet is left out of them.

    `planned` are the episodes of each arm (`AblationFolder.planned`).

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
        savings=list(_savings(ablation, arms)),
        arms={name: _counted(attempts) for name, attempts in arms.items()},
    )


def _counted(attempts: Sequence[Attempt]) -> tuple[int, int]:
    ends = by_key(attempts).values()
    errored = sum(bool(one.errored) for one in ends)
    return len(ends) - errored, errored


def rows_of(
    ablation: Ablation, measures: Sequence[Measure], found: Sequence[Contrast]
) -> Iterator[Row]:
    """A table is what shares design, population and measure: its tests are corrected together."""
    options = Options(seed=ablation.base.seed, confidence=ablation.confidence)
    for design in ("forked", "independent"):
        for population in ("failed", "all"):
            chosen = [one for one in found if one.design == design]
            if population == "failed":
                chosen = [one for one in chosen if one.prefix]
            elif design == "independent":
                # The pairs are the same whatever prefix they were looked at for.
                chosen = list({(one.first, one.second): one for one in chosen}.values())
            for measure in measures:
                yield from _table(chosen, population, measure, options)


def _table(
    chosen: Sequence[Contrast], population: str, measure: Measure, options: Options
) -> Iterator[Row]:
    failed = population == "failed"
    pairs = [one.failed if failed else one.pairs for one in chosen]
    effects = corrected([line(measure, these, options) for these in pairs])
    for one, effect in zip(chosen, effects, strict=True):
        groups = [broken_down(one, by, measure, options) if failed else {} for by in (code, hop)]
        yield Row(one, population, measure, effect, *groups)


def code(failure: Failure) -> str:
    """The error code of a first failed call."""
    return failure.code.value


def hop(failure: Failure) -> str:
    """The hop (from 1) of a first failed call; a call of no hop's tool has none."""
    return "none" if failure.hop is None else str(failure.hop + 1)


def broken_down(
    contrast: Contrast, by: Callable[[Failure], str], measure: Measure, options: Options
) -> dict[str, Line]:
    """The effect in each group of failed pairs, in order of the groups' names."""
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in contrast.failed:
        groups[by(contrast.failures[pair.key])].append(pair)
    names = sorted(groups)
    found = corrected([line(measure, groups[name], options) for name in names])
    return {name: one for name, one in zip(names, found, strict=True) if one is not None}


def _discordant(measures: Sequence[Measure], found: Sequence[Contrast]) -> Iterator[Discordant]:
    for one in found:
        for pair in sorted(one.pairs, key=lambda p: (p.key.item, p.key.epoch)):
            turned = pair.discordant(measures)
            if turned:
                yield Discordant(one, pair, turned)


def _savings(ablation: Ablation, arms: Arms) -> Iterator[Saving]:
    played = {arm: by_key(arms.get(arm.name, ())) for arm in ablation.arms}
    bases = {arm.level: found for arm, found in played.items() if not arm.forked}
    for arm, branches in played.items():
        if not arm.forked:
            continue
        parents, own = bases[arm.prefix], bases.get(arm.level)
        whole = [one for one in parents.values() if not one.errored and one.failure is None]
        yield Saving(
            prefix=arm.prefix,
            level=arm.level,
            branches=len(branches),
            asked=_sum(one.spent for one in branches.values()),
            kept=_sum(parents[key].to_failure for key in branches if key in parents),
            unplayed=_sum(one.spent for one in whole),
            counted=_sum(one.spent for one in own.values()) if own else None,
        )


def _sum(spent: Iterable[Spent]) -> Spent:
    return sum(spent, Spent())
