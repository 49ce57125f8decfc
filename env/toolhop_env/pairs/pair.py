"""Pairs of episodes, with the same item, mode and epoch under two conditions.

Only scored episodes form pairs. Episodes that are errored or missing on a side are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from toolhop_env.attempt import Attempt, Key, counting
from toolhop_env.measures import Measure
from toolhop_env.score import Parts


@dataclass(frozen=True, slots=True)
class Pair:
    """One episode, scored under both conditions."""

    key: Key
    """Key of both sides. If modes are compared, its mode names both (`by_key`)."""
    before: Attempt
    after: Attempt

    @property
    def cluster(self) -> str:
        """See `Attempt.cluster`."""
        return self.before.cluster

    def parts(self, measure: Measure) -> tuple[Parts, Parts] | None:
        """Return a measure's parts on both sides; None if a side has no value."""
        one, other = _parts(self.before, measure), _parts(self.after, measure)
        return None if one is None or other is None else (one, other)

    def change(self, measure: Measure) -> tuple[bool, bool] | None:
        """Return a binary measure's value on both sides, if they differ.

        Returns None if they agree, or if the measure is not binary.
        """
        found = self.parts(measure) if measure.binary else None
        if found is None or bool(found[0][0]) == bool(found[1][0]):
            return None
        return bool(found[0][0]), bool(found[1][0])

    def discordant(self, measures: Iterable[Measure]) -> tuple[Measure, ...]:
        """Return the binary measures among `measures` on which the sides differ."""
        return tuple(measure for measure in measures if self.change(measure) is not None)


def _parts(side: Attempt, measure: Measure) -> Parts | None:
    return None if side.score is None else measure.of(side.score)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Counts of episodes and items without a pair, by reason; no figure includes them."""

    errored_before: int = 0
    """Pairs in which only the first side is errored."""
    errored_after: int = 0
    errored_both: int = 0
    not_played_before: int = 0
    """Episodes that only the second condition has."""
    not_played_after: int = 0
    items_before: int = 0
    """Items that only the first run was to play."""
    items_after: int = 0
    changed: int = 0
    """Items whose content differs although their ids are equal."""

    @property
    def total(self) -> int:
        """Sum of all counts."""
        return sum(getattr(self, one.name) for one in fields(self))


def by_key(attempts: Iterable[Attempt], *, mode: str | None = None) -> dict[Key, Attempt]:
    """Return the attempts of a run that count, by the key for pairing.

    Args:
        attempts: attempts of one agent in one run.
        mode: replaces the attempt's mode in the key if modes are compared.
    """
    found = {one.key: one for one in counting(attempts)}
    return found if mode is None else {k._replace(mode=mode): one for k, one in found.items()}


def join(
    before: Mapping[Key, Attempt], after: Mapping[Key, Attempt]
) -> tuple[Sequence[Pair], LeftOut]:
    """Pair the attempts of two conditions, in the order of `before`, and count those left out."""
    pairs: list[Pair] = []
    errored: Counter[tuple[bool, bool]] = Counter()
    for key, one in before.items():
        other = after.get(key)
        if other is None:
            continue
        if one.errored or other.errored:
            errored[bool(one.errored), bool(other.errored)] += 1
        else:
            pairs.append(Pair(key, one, other))
    return pairs, LeftOut(
        errored_before=errored[True, False],
        errored_after=errored[False, True],
        errored_both=errored[True, True],
        not_played_before=len(after.keys() - before.keys()),
        not_played_after=len(before.keys() - after.keys()),
    )
