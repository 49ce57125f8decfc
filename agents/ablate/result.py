"""An ablation's figures, from its episodes alone: tables, breakdowns, flips, and what forks saved.

Pure and the same for the same episodes and seed, in whatever order they were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.ablate.design import Ablation
from agents.ablate.effect import Effect, broken_down, by_code, by_hop, corrected, effect
from agents.ablate.pairs import Arms, Pair, Paired, Played, comparisons, counting
from env.spending import Spent

RULES = ("official", "strict")


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison over one population by one answer rule."""

    first: str
    second: str
    prefix: str
    """See `Paired.prefix`."""
    design: str
    """``forked`` or ``independent``."""
    population: str
    """``failed``: episodes with a failed call under the prefix level; ``all``: every pair."""
    rule: str
    effect: Effect | None
    """None without a pair."""
    left_out: int
    by_code: Mapping[str, Effect]
    """By the error code of the first failed call; empty but for ``failed``."""
    by_hop: Mapping[str, Effect]
    """By the hop (from 1) of the first failed call; empty but for ``failed``."""


@dataclass(frozen=True, slots=True)
class Flip:
    """An item that one level answers and the other does not."""

    item: str
    epoch: int
    first: str
    second: str
    prefix: str
    design: str
    rules: tuple[str, ...]
    """Answer rules by which it flips."""
    to_correct: bool
    """By the last of these rules: wrong under the first level, right under the second."""
    turn: int | None
    """Turn of the first failed call; None where there is none."""
    code: str
    hop: str
    first_episode: tuple[str, str]
    """Arm and episode."""
    second_episode: tuple[str, str]


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

    rows: tuple[Row, ...]
    flips: tuple[Flip, ...]
    savings: tuple[Saving, ...]
    arms: Mapping[str, tuple[int, int]]
    """By arm: episodes that have a score, and void ones."""


def result(ablation: Ablation, arms: Arms) -> Result:
    """The figures; what the arms do not hold yet is left out of them."""
    found = comparisons(ablation, arms)
    return Result(
        rows=tuple(_rows(ablation, found)),
        flips=tuple(flip for one in found for flip in _flips(one)),
        savings=tuple(_savings(ablation, arms)),
        arms={name: _counted(episodes) for name, episodes in arms.items()},
    )


def _counted(episodes: Sequence[Played]) -> tuple[int, int]:
    ends = counting(episodes).values()
    void = sum(bool(one.void) for one in ends)
    return len(ends) - void, void


def _rows(ablation: Ablation, found: Sequence[Paired]) -> Iterable[Row]:
    """A table is what shares design, population and rule: its tests are corrected together."""
    for design in ("forked", "independent"):
        for population in ("failed", "all"):
            chosen = [one for one in found if _design(one) == design]
            if population == "failed":
                chosen = [one for one in chosen if one.prefix]
            elif design == "independent":
                # The pairs are the same whatever prefix they were looked at for.
                chosen = list({(one.first, one.second): one for one in chosen}.values())
            for rule in RULES:
                yield from _table(ablation, chosen, population, rule)


def _table(
    ablation: Ablation, chosen: Sequence[Paired], population: str, rule: str
) -> Iterable[Row]:
    seed, confidence = ablation.base.seed, ablation.confidence
    pairs = [one.failed if population == "failed" else one.pairs for one in chosen]
    effects = corrected(effect(p, rule, seed=seed, confidence=confidence) for p in pairs)
    for one, these, found in zip(chosen, pairs, effects, strict=True):
        groups = [
            broken_down(these, group, rule, seed=seed, confidence=confidence)
            if population == "failed"
            else {}
            for group in (by_code, by_hop)
        ]
        yield Row(
            first=one.first,
            second=one.second,
            prefix=one.prefix if population == "failed" or one.forked else "",
            design=_design(one),
            population=population,
            rule=rule,
            effect=found,
            left_out=one.left_out,
            by_code=groups[0],
            by_hop=groups[1],
        )


def _design(one: Paired) -> str:
    return "forked" if one.forked else "independent"


def _flips(one: Paired) -> Iterable[Flip]:
    for pair in sorted(one.pairs, key=lambda p: p.first.key):
        rules = tuple(rule for rule in RULES if len(set(pair.right(rule))) > 1)
        if rules:
            yield _flip(one, pair, rules)


def _flip(one: Paired, pair: Pair, rules: tuple[str, ...]) -> Flip:
    return Flip(
        item=pair.item,
        epoch=pair.first.epoch,
        first=one.first,
        second=one.second,
        prefix=one.prefix,
        design=_design(one),
        rules=rules,
        to_correct=pair.right(rules[-1])[1],
        turn=pair.failure.turn if pair.failure else None,
        code=by_code(pair),
        hop=by_hop(pair),
        first_episode=(pair.first.arm, pair.first.episode),
        second_episode=(pair.second.arm, pair.second.episode),
    )


def _savings(ablation: Ablation, arms: Arms) -> Iterable[Saving]:
    bases = {arm.level: arm.name for arm in ablation.arms if not arm.forked}
    for arm in ablation.arms:
        if not arm.forked:
            continue
        parents = counting(arms.get(bases[arm.prefix], ()))
        branches = counting(arms.get(arm.name, ()))
        whole = [one for one in parents.values() if not one.void and one.failure is None]
        own = counting(arms.get(bases.get(arm.level, ""), ()))
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
