"""Which repair makes a lost episode right: a cause is named only after an intervention.

An episode is continued n times from its first divergence as it was played, and n times with the
gold call in its place. Where success does not rise, the next divergence is repaired alone, then
both. Success rises if the interval of the paired difference is above 0: Tango's
(`toolhop_env.statistics.paired`) at 98.3 %, so that the three tests of an episode hold together at
95 %. Of 8 continuations, 6 more have to be right.

Continuations that are all alike count as one, as an agent that is deterministic gives no other:
there success rises if the repaired one is right and the other is not. Fewer than 6 show nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from toolhop_env.statistics.paired import PairedDifference, difference


class Stage(StrEnum):
    """What is repaired, in the order tried."""

    FIRST = "first"
    NEXT = "next"
    """The next divergence of the episode, alone."""
    BOTH = "both"
    """The first divergence, and the next one in what follows its repair."""


CONFIDENCE = 1 - 0.05 / len(Stage)
"""Level of each interval."""
LEAST = 6
"""Fewest continuations that show a cause."""


class Cause(StrEnum):
    """What the repairs of an episode show."""

    FIRST = "first divergence"
    NEXT = "next divergence"
    TOGETHER = "both together"
    """Neither repair alone makes success rise; the two together do."""
    CHANCE = "chance"
    """Without a repair, at least half of the continuations are right."""
    NOT_FOUND = "not found"
    NO_REPAIR = "no call to repair"
    """No divergence has a gold call."""
    OPEN = "not finished"


@dataclass(frozen=True, slots=True)
class Trial:
    """Continuations of an episode without and with a repair."""

    pairs: tuple[tuple[bool, bool], ...]
    """Whether each one is right (as played, repaired), without errored ones; at least one pair."""
    identical: bool
    """Whether all continuations are alike, on each side."""

    @property
    def rise(self) -> PairedDifference:
        """The difference, whose interval says nothing of identical continuations."""
        return difference(self.pairs, confidence=CONFIDENCE)

    @property
    def rises(self) -> bool:
        """Whether the repair makes success rise."""
        rises = self.pairs[0] == (False, True) if self.identical else self.rise.low > 0
        return rises and len(self.pairs) >= LEAST


def cause(repairs: int, trials: Mapping[Stage, Trial | None]) -> Cause:
    """Return what the trials of an episode with this number of repairs show.

    `trials` has the finished stages: None for one with nothing to repair.
    """
    if not repairs:
        return Cause.NO_REPAIR
    for stage, name in zip(Stage, (Cause.FIRST, Cause.NEXT, Cause.TOGETHER), strict=True):
        if stage not in trials:
            return Cause.OPEN
        if (trial := trials[stage]) is None:
            continue
        if trial.rises:
            return name
        if stage is Stage.FIRST and trial.rise.before >= 1 / 2:
            return Cause.CHANCE
    return Cause.NOT_FOUND
