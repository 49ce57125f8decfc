"""Which repair makes a lost episode right: a cause is named only after an intervention.

An episode is continued from its first divergence n times as it was played, and n times with the
gold call in place of what diverged. If success does not rise, the next divergence is repaired
alone, then both: the first, and whatever diverges after it. Success *rises* if the paired
difference has an interval above 0. The interval is Tango's (`toolhop_env.statistics.paired`) at
98.3 %, so that the three tests of an episode hold together at 95 %. With 8 continuations that
takes 6 more right ones; no difference of fewer than 6 pairs can rise.

Continuations that are all alike are those of a deterministic agent and count as one: success rises
if the repaired one is right and the other is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from toolhop_env.statistics.paired import PairedDifference, difference


class Stage(StrEnum):
    """What is repaired, in the order tried."""

    FIRST = "first"
    """The first divergence."""
    NEXT = "next"
    """The next divergence of the episode, alone."""
    BOTH = "both"
    """The first divergence, and the next one that follows its repair."""


CONFIDENCE = 1 - 0.05 / len(Stage)
"""Level of each interval; over the three tests of an episode it comes to 95 %."""


class Cause(StrEnum):
    """What the repairs of an episode show."""

    FIRST = "first divergence"
    NEXT = "next divergence"
    TOGETHER = "both together"
    """Neither repair alone makes success rise; the two together do."""
    CHANCE = "chance"
    """The agent's own turn, taken anew, comes out right at least half of the time."""
    NOT_FOUND = "not found"
    NO_REPAIR = "no call to repair"
    """No divergence has a gold call: the episode was lost in its answer, or cannot be decided."""
    OPEN = "not finished"


@dataclass(frozen=True, slots=True)
class Trial:
    """Continuations of an episode without and with a repair."""

    pairs: tuple[tuple[bool, bool], ...]
    """Whether each continuation is right (as played, repaired); errored ones are left out."""
    identical: bool
    """Whether all continuations are alike, on each side."""

    @property
    def found(self) -> PairedDifference:
        """The difference with its interval, which says nothing of identical continuations."""
        return difference(self.pairs, confidence=CONFIDENCE)

    @property
    def counted(self) -> Sequence[tuple[bool, bool]]:
        """The pairs that count: identical ones are one."""
        return self.pairs[:1] if self.identical else self.pairs

    @property
    def rises(self) -> bool:
        """Whether the repair makes success rise."""
        return self.pairs[0] == (False, True) if self.identical else self.found.low > 0

    @property
    def by_chance(self) -> bool:
        """Whether at least half of the continuations are right without the repair."""
        return 2 * sum(before for before, _ in self.pairs) >= len(self.pairs)


def cause(steps: int, trials: Mapping[Stage, Trial | None]) -> Cause:
    """Return what the trials of an episode show.

    Args:
        steps: number of divergences that can be repaired.
        trials: the stages that are finished; None for one that has no continuation to compare.
    """
    if not steps:
        return Cause.NO_REPAIR
    for stage, name in zip(Stage, (Cause.FIRST, Cause.NEXT, Cause.TOGETHER), strict=True):
        if stage not in trials:
            return Cause.OPEN
        trial = trials[stage]
        if trial is not None and trial.rises:
            return name
        if trial is not None and stage is Stage.FIRST and trial.by_chance:
            return Cause.CHANCE
    return Cause.NOT_FOUND
