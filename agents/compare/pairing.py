"""Episodes of two runs joined by item, mode and epoch, or a refusal that says what differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.compare.conditions import Factor, factors, remarks
from agents.compare.sides import Key, NotComparable, Played, Side
from agents.terminal import visible
from env.score import Score, Void

PRESENTATION = "presentation"
"""The setting that says how tools are shown."""
LISTED = 5
"""Ids named in a message before the rest is counted."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One item played under both conditions, both judged."""

    key: Key
    """With the mode `before / after` where modes are what is compared."""
    before: Score
    after: Score
    played: tuple[Played, Played]

    @property
    def hops(self) -> int:
        """Of the item."""
        return self.before.hops


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Episodes without a pair, by reason; none of them is in any figure."""

    void_before: int
    """Pairs whose first side alone is void."""
    void_after: int
    void_both: int
    not_played_before: int
    """Episodes that the second run has and the first does not, of what both were asked for."""
    not_played_after: int
    items_before: int
    """Items that only the first run was asked for."""
    items_after: int
    changed: int
    """Items of one id with different content."""

    @property
    def total(self) -> int:
        """Of everything."""
        return sum(getattr(self, name) for name in self.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Pairing:
    """Everything that two runs have in common, and what they have not."""

    before: Side
    after: Side
    differs: Sequence[Factor]
    remarks: Sequence[Factor]
    pairs: Sequence[Pair]
    left_out: LeftOut


@dataclass(frozen=True, slots=True)
class _Overlap:
    """What two runs were asked for, held against each other."""

    items: frozenset[str]
    """Ids of items that both have, with the same content."""
    only_before: Sequence[str]
    only_after: Sequence[str]
    changed: Sequence[str]


def pair_up(before: Side, after: Side, *, common: bool, allow_differences: bool) -> Pairing:
    """Join two runs.

    Args:
        before: the baseline.
        after: what is compared with it.
        common: compare what both played, where items, modes or epochs differ.
        allow_differences: compare although more than one setting differs.

    Raises:
        NotComparable: they differ in more than that, or no pair is left.
    """
    overlap = _overlap(before, after)
    differs = factors(before, after)
    reasons = [*_data_reasons(before, after, overlap, common=common), *_mode_reasons(before, after)]
    if len(differs) > 1 and not allow_differences:
        listed = "; ".join(map(str, differs))
        reasons.append(
            f"{len(differs)} settings differ, so a difference could come from any of them: "
            f"{listed}. Compare runs that differ in one, or pass --allow-differences"
        )
    if reasons:
        raise NotComparable(_refusal(before, after, reasons))
    pairs, left_out = _join(before, after, overlap, modes_differ=_modes_differ(before, after))
    if not pairs:
        raise NotComparable(_refusal(before, after, [_no_pair(before, after, left_out)]))
    return Pairing(before, after, differs, remarks(before, after), pairs, left_out)


def _overlap(before: Side, after: Side) -> _Overlap:
    one, other = before.digests, after.digests
    both = set(before.asked) & set(after.asked)
    changed: set[str] = set()
    if not _shown_otherwise(before, after):
        changed = {item for item in both & one.keys() & other.keys() if one[item] != other[item]}
    return _Overlap(
        items=frozenset(both - changed),
        only_before=[item for item in before.asked if item not in both],
        only_after=[item for item in after.asked if item not in both],
        changed=[item for item in before.asked if item in changed],
    )


def _shown_otherwise(before: Side, after: Side) -> bool:
    """Whether the same data was played with its tools shown in another way, which changes the
    items' digests, and is what is compared.
    """
    same = before.data_digest is not None and before.data_digest == after.data_digest
    return same and before.settings.get(PRESENTATION) != after.settings.get(PRESENTATION)


def _data_reasons(before: Side, after: Side, overlap: _Overlap, *, common: bool) -> Iterable[str]:
    """Why the runs' data, modes or epochs do not match; nothing where `common` is asked for."""
    if common:
        return
    found = [
        (overlap.only_before, f"items only in {before.letter}"),
        (overlap.only_after, f"items only in {after.letter}"),
        (overlap.changed, "items of one id with different content"),
    ]
    for items, what in found:
        if items:
            yield f"{what}: {_named(items)}. Pass --common to compare the items that both have"
    one, other = set(before.modes), set(after.modes)
    if one != other and one & other:
        yield (
            f"the modes differ: {', '.join(before.modes)} / {', '.join(after.modes)}. "
            "Pass --common to compare the modes that both have"
        )
    if before.epochs != after.epochs:
        yield (
            f"the epochs differ: {before.epochs} / {after.epochs}. "
            "Pass --common to compare the epochs that both have"
        )


def _mode_reasons(before: Side, after: Side) -> Iterable[str]:
    if _modes_differ(before, after) and max(len(before.modes), len(after.modes)) > 1:
        yield (
            f"no mode is in both: {', '.join(before.modes)} / {', '.join(after.modes)}. "
            "Modes can be compared between runs of one mode each"
        )


def _modes_differ(before: Side, after: Side) -> bool:
    return not set(before.modes) & set(after.modes)


def _join(
    before: Side, after: Side, overlap: _Overlap, *, modes_differ: bool
) -> tuple[list[Pair], LeftOut]:
    label = f"{before.modes[0]} / {after.modes[0]}" if modes_differ else None
    one, other = (_shared(side, label) for side in (before, after))
    modes = {label} if label else set(before.modes) & set(after.modes)
    epochs = min(before.epochs, after.epochs)

    def counts(key: Key) -> bool:
        return key.item in overlap.items and key.mode in modes and key.epoch <= epochs

    pairs, void = [], {"before": 0, "after": 0, "both": 0}
    for key in filter(counts, one):
        if key not in other:
            continue
        sides = (one[key], other[key])
        match (sides[0].judged.verdict, sides[1].judged.verdict):
            case (Score() as first, Score() as second):
                pairs.append(Pair(key, first, second, sides))
            case (Void(), Void()):
                void["both"] += 1
            case (Void(), _):
                void["before"] += 1
            case _:
                void["after"] += 1
    place = {item: number for number, item in enumerate(before.asked)}
    pairs.sort(key=lambda pair: (pair.key.mode, place[pair.key.item], pair.key.epoch))
    return pairs, LeftOut(
        void_before=void["before"],
        void_after=void["after"],
        void_both=void["both"],
        not_played_before=sum(counts(key) and key not in one for key in other),
        not_played_after=sum(counts(key) and key not in other for key in one),
        items_before=len(overlap.only_before),
        items_after=len(overlap.only_after),
        changed=len(overlap.changed),
    )


def _shared(side: Side, mode: str | None) -> Mapping[Key, Played]:
    """Episodes by key, with `mode` in place of the mode where modes are compared."""
    if mode is None:
        return side.episodes
    return {key._replace(mode=mode): one for key, one in side.episodes.items()}


def _named(items: Sequence[str]) -> str:
    more = f" and {len(items) - LISTED} more" if len(items) > LISTED else ""
    return f"{len(items)} ({', '.join(items[:LISTED])}{more})"


def _no_pair(before: Side, after: Side, left_out: LeftOut) -> str:
    void = left_out.void_before + left_out.void_after + left_out.void_both
    alone = left_out.not_played_before + left_out.not_played_after
    counts = ", ".join(f"{side.letter} has {len(side.episodes)}" for side in (before, after))
    return (
        f"no pair of episodes can be judged: {counts} episodes; {void} pairs have a void "
        f"side, {alone} episodes were played by one run only"
    )


def _refusal(before: Side, after: Side, reasons: Sequence[str]) -> str:
    lines = "\n  ".join(reasons)
    return visible(f"{before.folder} and {after.folder} cannot be compared:\n  {lines}")
