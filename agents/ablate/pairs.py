"""From the episodes of an ablation's arms to pairs: one item and epoch under two levels.

Pure: played episodes go in as values. An episode enters once, by its counting attempt (the first
that is not void); what is void or not there on either side makes no pair, and is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agents.ablate.design import Ablation
from env.fork import Failure, first_failure
from env.score import Score, Void, score
from env.spending import Spent, spent, spent_on
from env.trace import Trace

Key: TypeAlias = tuple[str, int]
"""Item and epoch."""


@dataclass(frozen=True, slots=True)
class Played:
    """One episode of an arm, reduced to what an ablation looks at."""

    item: str
    epoch: int
    attempt: int
    arm: str
    episode: str
    official: bool
    strict: bool
    void: str = ""
    """Why it has no score; empty where it has one."""
    failure: Failure | None = None
    turns: int = 0
    spent: Spent = field(default_factory=Spent)
    """What this attempt took, turns kept from another episode left out."""
    to_failure: Spent = field(default_factory=Spent)
    """What the turns up to the first failed call took, whoever paid for them."""

    @property
    def key(self) -> Key:
        """What it is paired by."""
        return (self.item, self.epoch)

    def right(self, rule: str) -> bool:
        """Whether the answer is right by ``official`` or ``strict``."""
        return self.official if rule == "official" else self.strict


def played(trace: Trace, arm: str) -> Played:
    """An episode as a value; cut-off ones are void."""
    start, verdict, failure = trace.started, score(trace), first_failure(trace)
    own = spent(trace)
    before = [one.reply for one in trace.replies if failure and one.turn <= failure.turn]
    right = verdict if isinstance(verdict, Score) else None
    return Played(
        item=start.item,
        epoch=start.epoch,
        attempt=start.attempt,
        arm=arm,
        episode=start.episode,
        official=bool(right and right.official),
        strict=bool(right and right.strict),
        void=verdict.reason if isinstance(verdict, Void) else "",
        failure=failure,
        turns=len(trace.replies),
        spent=own,
        to_failure=spent_on(before),
    )


def counting(episodes: Iterable[Played]) -> dict[Key, Played]:
    """By item and epoch the attempt that counts: the first with a score, else the last."""
    found: dict[Key, Played] = {}
    for one in sorted(episodes, key=lambda p: p.attempt):
        if one.key not in found or found[one.key].void:
            found[one.key] = one
    return found


@dataclass(frozen=True, slots=True)
class Pair:
    """One item and epoch under two levels."""

    first: Played
    second: Played
    failure: Failure | None
    """The first failed call of the episode that was played under the prefix level. Where there
    are no prefixes, None."""

    @property
    def item(self) -> str:
        """What pairs of several epochs have in common."""
        return self.first.item

    def right(self, rule: str) -> tuple[bool, bool]:
        """Whether each side is right."""
        return self.first.right(rule), self.second.right(rule)


@dataclass(frozen=True, slots=True)
class Paired:
    """All pairs of two levels, and how they came to be."""

    first: str
    second: str
    prefix: str
    """The level under which the prefixes were played, or, in the independent design of the
    feedback factor, under which an episode has to have a failed call; else empty."""
    forked: bool
    pairs: tuple[Pair, ...]
    left_out: int
    """Items and epochs without a pair: void or not there on a side."""

    @property
    def failed(self) -> tuple[Pair, ...]:
        """The pairs whose episode has a failed call under the prefix level."""
        return tuple(pair for pair in self.pairs if pair.failure is not None)


Arms: TypeAlias = Mapping[str, Sequence[Played]]
"""The episodes of each arm, by the arm's name; an arm that was not begun is absent."""


def comparisons(ablation: Ablation, arms: Arms) -> list[Paired]:
    """Every comparison that the arms allow: the first level with each other one.

    Feedback has one for each prefix level, forked and (where both levels were played from the
    start) independent; other factors have one alone.
    """
    by_level = {
        arm.level: counting(arms.get(arm.name, ())) for arm in ablation.arms if not arm.forked
    }
    feedback = ablation.factor == "feedback"
    prefixes = ablation.played_levels if feedback else ("",)
    found = []
    if ablation.forks:
        for prefix in prefixes:
            branches = _branches(ablation, arms, prefix)
            found += [
                _forked(ablation.levels[0], other, prefix, branches)
                for other in ablation.levels[1:]
            ]
    for prefix in prefixes:
        for other in ablation.levels[1:]:
            wanted = {ablation.levels[0], other}
            if wanted <= by_level.keys() and (not prefix or prefix in wanted):
                found.append(_independent(ablation.levels[0], other, prefix, by_level))
    return found


def _branches(ablation: Ablation, arms: Arms, prefix: str) -> dict[str, dict[Key, Played]]:
    """By level the branches of the episodes under `prefix`: those themselves, and the forks."""
    return {
        arm.level: counting(arms.get(arm.name, ()))
        for arm in ablation.arms
        if arm.prefix == prefix or (not arm.forked and arm.level == prefix)
    }


def _forked(
    first: str, second: str, prefix: str, branches: Mapping[str, Mapping[Key, Played]]
) -> Paired:
    """An episode without a failed call is its own pair: no level was ever seen in it."""
    pairs = []
    for key, parent in branches[prefix].items():
        sides = [
            parent if parent.failure is None else branches[level].get(key)
            for level in (first, second)
        ]
        one, other = sides
        if parent.void or one is None or other is None or one.void or other.void:
            continue
        pairs.append(Pair(one, other, parent.failure))
    return Paired(first, second, prefix, True, tuple(pairs), len(branches[prefix]) - len(pairs))


def _independent(
    first: str, second: str, prefix: str, by_level: Mapping[str, Mapping[Key, Played]]
) -> Paired:
    pairs = []
    keys = dict.fromkeys([*by_level[first], *by_level[second]])
    for key in keys:
        one, other = by_level[first].get(key), by_level[second].get(key)
        if one is None or other is None or one.void or other.void:
            continue
        failed = by_level[prefix].get(key) if prefix else None
        pairs.append(Pair(one, other, failed.failure if failed and not failed.void else None))
    return Paired(first, second, prefix, False, tuple(pairs), len(keys) - len(pairs))
