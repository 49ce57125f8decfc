"""Episodes in pairs: one item, mode and epoch under two conditions, and what has no pair.

Only scored episodes make a pair. What is errored or not there on a side is counted.
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
    """One episode under both conditions, scored under both."""

    key: Key
    """Of both sides. Where modes are what is compared it names both (`by_key`)."""
    before: Attempt
    after: Attempt

    @property
    def cluster(self) -> str:
        """See `Attempt.cluster`."""
        return self.before.cluster

    def parts(self, measure: Measure) -> tuple[Parts, Parts] | None:
        """A measure's parts on either side; None where one side has no figure."""
        one, other = _parts(self.before, measure), _parts(self.after, measure)
        return None if one is None or other is None else (one, other)

    def change(self, measure: Measure) -> tuple[bool, bool] | None:
        """Whether either side has a binary measure's property, where just one of them has it.

        None where the pair is not discordant, or the measure is not binary.
        """
        found = self.parts(measure) if measure.binary else None
        if found is None or bool(found[0][0]) == bool(found[1][0]):
            return None
        return bool(found[0][0]), bool(found[1][0])

    def discordant(self, measures: Iterable[Measure]) -> tuple[Measure, ...]:
        """The binary ones among `measures` whose property one side has and the other has not."""
        return tuple(measure for measure in measures if self.change(measure) is not None)


def _parts(side: Attempt, measure: Measure) -> Parts | None:
    return None if side.score is None else measure.of(side.score)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What has no pair, by reason; none of it is in any figure."""

    errored_before: int = 0
    """Pairs whose first side alone is errored."""
    errored_after: int = 0
    errored_both: int = 0
    not_played_before: int = 0
    """Episodes that the second condition has and the first does not."""
    not_played_after: int = 0
    items_before: int = 0
    """Items that only the first run was asked for."""
    items_after: int = 0
    changed: int = 0
    """Items of one id with different content."""

    @property
    def total(self) -> int:
        """Of everything."""
        return sum(getattr(self, one.name) for one in fields(self))


def by_key(attempts: Iterable[Attempt], *, mode: str | None = None) -> dict[Key, Attempt]:
    """Of one run's attempts the one that counts, by the key that pairs it.

    Args:
        attempts: of one agent in one run.
        mode: stands in the key in place of the attempt's own, where modes are compared.
    """
    found = {one.key: one for one in counting(attempts)}
    return found if mode is None else {k._replace(mode=mode): one for k, one in found.items()}


def join(
    before: Mapping[Key, Attempt], after: Mapping[Key, Attempt]
) -> tuple[Sequence[Pair], LeftOut]:
    """The pairs of two conditions in the order of `before`, and what has none."""
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
