"""Pair the episodes of an ablation's arms by level. Pure: attempts go in as values.

Forked: two branches of one episode, which share its turns up to where the levels begin to differ,
such as the first failed call. An episode that does not get there is paired with itself.

Independent: two episodes of one item and epoch, each played from the start under its own level; for
scenarios, two episodes of one family.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from toolhop_agents.ablate.design import Ablation, Arm, Factor
from toolhop_agents.ablate.varied import ForkAt
from toolhop_env.attempt import Attempt, Key
from toolhop_env.fork import Failure
from toolhop_env.pairs.pair import Pair, by_key, join

Arms: TypeAlias = Mapping[str, Sequence[Attempt]]
"""Attempts by name of the arm, without arms that have not begun."""
AttemptsByKey: TypeAlias = Mapping[Key, Attempt]
Levels: TypeAlias = Sequence[tuple[str, str]]
"""Pairs of levels: the first, and the one compared with it."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """All pairs of two levels, and how the pairs were formed."""

    first: str
    second: str
    prefix: str
    """Level under which the shared turns were played. In the independent design of the feedback
    factor, the level under which an episode needs a failed call; otherwise empty."""
    forked: bool
    pairs: Sequence[Pair]
    failures: Mapping[Key, Failure | None]
    """The first failed call under the prefix level, by episode that is forked there; None if it is
    forked elsewhere (`fork_at`) and has none."""
    planned: int
    """Number of pairs if no episode were lost, that is, errored or not played on one side."""
    continuations: int = 1
    """Branches of a fork at each level; a single one at the prefix level is the episode itself."""
    fork_at: ForkAt = ForkAt.FAILURE

    @property
    def left_out(self) -> int:
        """Number of planned pairs that are missing because a side is errored or was not played."""
        return self.planned - len(self.pairs)

    @property
    def design(self) -> str:
        """``forked`` or ``independent``."""
        return "forked" if self.forked else "independent"

    @property
    def failed(self) -> Sequence[Pair]:
        """The pairs whose episode has a failed call under the prefix level, or is forked."""
        return [pair for pair in self.pairs if pair.key in self.failures]

    def arms(self, pair: Pair) -> tuple[Arm, Arm]:
        """Return the arms in which the two episodes of a pair were played."""
        if not self.forked:
            return Arm(self.first), Arm(self.second)
        whole = pair.key not in self.failures
        own = self.prefix if self.continuations == 1 else None
        first, second = (
            Arm(self.prefix) if whole or level == own else Arm(level, self.prefix)
            for level in (self.first, self.second)
        )
        return first, second


def contrasts(
    ablation: Ablation, arms: Arms, planned: int = 0, compared: Levels = ()
) -> list[Contrast]:
    """Return all comparisons of two levels that the arms allow.

    `planned` is the number of episodes per arm, including those that have not begun. By default,
    the first level is `compared` with each other. Feedback has one comparison per prefix level and
    design; the independent one needs both levels played from the start. Other factors have one.
    """
    compared = compared or [(ablation.levels[0], level) for level in ablation.levels[1:]]
    mode = "" if ablation.factor is Factor.MODE else None
    played = {arm: by_key(arms.get(arm.name, ()), mode=mode) for arm in ablation.arms}
    if ablation.factor is Factor.SCENARIO:
        # Each arm has one item per family.
        played = {
            arm: {key._replace(item=one.cluster): one for key, one in found.items()}
            for arm, found in played.items()
        }
    forked = ablation.played_levels if ablation.forks else ()
    prefixes = ablation.played_levels if ablation.factor is Factor.FEEDBACK else ("",)
    return [
        *(one for at in forked for one in _forked(ablation, played, at, planned, compared)),
        *(one for at in prefixes for one in _independent(played, at, planned, compared)),
    ]


def _forked(
    ablation: Ablation, played: Mapping[Arm, AttemptsByKey], prefix: str, planned: int,
    compared: Levels,
) -> Iterator[Contrast]:  # fmt: skip
    each = ablation.continuations
    parents = {
        branch: one for key, one in played[Arm(prefix)].items() for branch in ablation.branches(key)
    }
    failures = {key: one.failure for key, one in parents.items() if ablation.branches_from(one)}

    def branches(level: str) -> AttemptsByKey:
        forks = parents if level == prefix and each == 1 else played[Arm(level, prefix)]
        found = {key: forks.get(key) if key in failures else one for key, one in parents.items()}
        return {key: one for key, one in found.items() if one is not None}

    for first, second in compared:
        pairs, _ = join(branches(first), branches(second))
        most = max(planned * each, len(parents))
        at = ablation.fork_at or ForkAt.FAILURE
        yield Contrast(first, second, prefix, True, pairs, failures, most, each, at)


def _independent(
    played: Mapping[Arm, AttemptsByKey], prefix: str, planned: int, compared: Levels
) -> Iterator[Contrast]:
    failures = _failures(played[Arm(prefix)]) if prefix else {}
    for first, level in compared:
        wanted = {first, level}
        if wanted <= {arm.level for arm in played if not arm.forked} and prefix in {"", *wanted}:
            pairs, left_out = join(played[Arm(first)], played[Arm(level)])
            most = max(planned, len(pairs) + left_out.total)
            yield Contrast(first, level, prefix, False, pairs, failures, most)


def _failures(episodes: AttemptsByKey) -> dict[Key, Failure | None]:
    return {key: one.failure for key, one in episodes.items() if one.failure is not None}
