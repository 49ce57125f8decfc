"""Join the episodes of two runs by item, mode and epoch, or refuse and say what differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from toolhop_agents.compare.conditions import SettingDifference, differences, is_fork_of, remarks
from toolhop_agents.terminal import visible
from toolhop_env.attempt import Attempt, Key
from toolhop_env.pairs.pair import LeftOut, Pair, join
from toolhop_env.runs.sides import NotComparable, Side

PERTURBATION = "perturbation"
"""The setting that changes how tools are shown."""
LISTED = 5
"""Number of ids that a message names; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """The pairs of two runs, their differences, and the episodes left out."""

    before: Side
    after: Side
    differs: Sequence[SettingDifference]
    remarks: Sequence[SettingDifference]
    pairs: Sequence[Pair]
    left_out: LeftOut
    planned: int
    """Number of pairs if no episode were lost, that is, errored or not played in one of the
    runs."""

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both runs."""
        return self.before, self.after

    @property
    def items(self) -> int:
        """Number of items with a pair."""
        return len({pair.key.item for pair in self.pairs})


@dataclass(frozen=True, slots=True)
class _Overlap:
    """Items requested by two runs: common ones, and those of one run only."""

    items: frozenset[str]
    """Ids of items that both runs have with the same content."""
    only_before: Sequence[str]
    only_after: Sequence[str]
    changed: Sequence[str]


def pair_up(before: Side, after: Side, *, common: bool, allow_differences: bool) -> Pairing:
    """Pair the episodes of two runs.

    Args:
        before: the baseline.
        after: the run compared with it.
        common: compare only what both played if items, modes or epochs differ.
        allow_differences: compare even if more than one setting differs.

    Raises:
        NotComparable: they differ in more than these flags allow, or no pair is left.
    """
    overlap = _overlap(before, after)
    differs = differences(before, after)
    reasons = [] if common else [*_data_reasons(before, after, overlap)]
    if _modes_differ(before, after) and max(len(before.modes), len(after.modes)) > 1:
        reasons.append(
            f"no mode is in both: {', '.join(before.modes)} / {', '.join(after.modes)}. "
            "Modes can be compared between runs of one mode each"
        )
    if len(differs) > 1 and not allow_differences:
        listed = "; ".join(map(str, differs))
        reasons.append(
            f"{len(differs)} settings differ, so a difference could come from any of them: "
            f"{listed}. Compare runs that differ in one, or pass --allow-differences"
        )
    if reasons:
        raise NotComparable(_refusal(before, after, reasons))
    pairs, left_out, planned = _joined(before, after, overlap)
    if not pairs:
        raise NotComparable(_refusal(before, after, [_no_pair(before, after, left_out)]))
    return Pairing(before, after, differs, remarks(before, after), pairs, left_out, planned)


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
    """Whether the runs compare tool perturbations of the same data, which change item digests."""
    same = before.data_digest is not None and before.data_digest == after.data_digest
    return same and before.settings.get(PERTURBATION) != after.settings.get(PERTURBATION)


def _data_reasons(before: Side, after: Side, overlap: _Overlap) -> Iterable[str]:
    """Yield the reasons why the runs' data, modes or epochs do not match."""
    found = [
        (overlap.only_before, f"items only in {before.letter}"),
        (overlap.only_after, f"items only in {after.letter}"),
        (overlap.changed, "items of one id with different content"),
    ]
    for items, what in found:
        if items:
            yield f"{what}: {_named(items)}. Pass --common to compare the items that both have"
    if set(before.modes) != set(after.modes) and not _modes_differ(before, after):
        yield (
            f"the modes differ: {', '.join(before.modes)} / {', '.join(after.modes)}. "
            "Pass --common to compare the modes that both have"
        )
    if before.epochs != after.epochs:
        yield (
            f"the epochs differ: {before.epochs} / {after.epochs}. "
            "Pass --common to compare the epochs that both have"
        )


def _modes_differ(before: Side, after: Side) -> bool:
    """Whether the runs share no mode, so that modes are compared."""
    return not set(before.modes) & set(after.modes)


def _joined(before: Side, after: Side, overlap: _Overlap) -> tuple[list[Pair], LeftOut, int]:
    """Return the pairs by mode and item, the episodes left out, and the number of planned pairs."""
    modes = set(before.modes) & set(after.modes)
    label = "" if modes else f"{before.modes[0]} / {after.modes[0]}"
    epochs = min(before.epochs, after.epochs)

    def wanted(side: Side) -> Mapping[Key, Attempt]:
        return {
            key._replace(mode=label or key.mode): one
            for key, one in side.episodes.items()
            if key.item in overlap.items and (label or key.mode in modes) and key.epoch <= epochs
        }

    pairs, left_out = join(wanted(before), wanted(after))
    place = {item: number for number, item in enumerate(before.asked)}
    ordered = sorted(pairs, key=lambda p: (p.key.mode, place[p.key.item], p.key.epoch))
    planned = len(pairs) + left_out.total
    if is_fork_of(before, after) or is_fork_of(after, before):
        planned -= left_out.not_played_before + left_out.not_played_after
    elif not any(side.settings.get("shard") for side in (before, after)):
        planned = max(planned, len(overlap.items) * max(1, len(modes)) * epochs)
    whole = replace(
        left_out,
        items_before=len(overlap.only_before),
        items_after=len(overlap.only_after),
        changed=len(overlap.changed),
    )
    return ordered, whole, planned


def _named(items: Sequence[str]) -> str:
    more = f" and {len(items) - LISTED} more" if len(items) > LISTED else ""
    return f"{len(items)} ({', '.join(items[:LISTED])}{more})"


def _no_pair(before: Side, after: Side, left_out: LeftOut) -> str:
    errored = left_out.errored_before + left_out.errored_after + left_out.errored_both
    alone = left_out.not_played_before + left_out.not_played_after
    counts = ", ".join(f"{side.letter} has {len(side.episodes)}" for side in (before, after))
    return (
        f"no pair of episodes is scored: {counts} episodes; {errored} pairs have an errored "
        f"side, {alone} episodes were played by one run only"
    )


def _refusal(before: Side, after: Side, reasons: Sequence[str]) -> str:
    lines = "\n  ".join(reasons)
    return visible(f"{before.folder} and {after.folder} cannot be compared:\n  {lines}")
