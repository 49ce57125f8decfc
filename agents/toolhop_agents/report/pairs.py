"""Compare feedback levels: forked episodes with their parents, and separate ones by item.

A fork shares its parent's first turns, so that the two differ only by the feedback; separate
episodes share an item and an epoch. Pairs are compared by the benchmark's leading measure, with the
figures of `toolhop_env.pairs`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, TypeAlias

from toolhop_agents.ablate.plain import effect_json
from toolhop_agents.compare.cells import effect
from toolhop_agents.compare.conditions import DEFAULTS
from toolhop_agents.compare.pairing import Pairing, pair_up
from toolhop_env.attempt import Attempt
from toolhop_env.benchmarks import named
from toolhop_env.pairs.line import Line, Options, line
from toolhop_env.pairs.pair import Pair
from toolhop_env.runs.sides import NotComparable, benchmark_of, read_sides
from toolhop_sandbox.outcome import JSON


@dataclass(frozen=True, slots=True)
class EpisodeSide:
    """An episode that may be one side of a pair."""

    key: str
    """The episode's key in the report."""
    attempt: Attempt
    last_level: str
    """Feedback level at the end of the episode."""
    counts: bool
    """Whether the episode enters the figures."""
    shared_prefix: str | None
    """Key of the episode that this one resumes from; None if it resumes from none."""


class PairSetting(NamedTuple):
    """What the pairs of one table row share."""

    how: str
    benchmark: str
    agent: str
    mode: str
    before: str
    after: str


Found: TypeAlias = tuple[PairSetting, EpisodeSide, EpisodeSide]


def level_pairs(sides: Iterable[EpisodeSide]) -> list[dict[str, JSON]]:
    """Return a table row per agent, mode and pair of levels; empty if only one level was played."""
    usable = [one for one in sides if one.attempt.score is not None]
    found: dict[PairSetting, list[tuple[EpisodeSide, EpisodeSide]]] = defaultdict(list)
    for setting, before, after in (*_forked(usable), *_separate(usable)):
        found[setting].append((before, after))
    return [_comparison(setting, pairs) for setting, pairs in found.items()]


def headlines(runs: Sequence[tuple[str, Path]]) -> list[JSON]:
    """Return sentences on how the leading measure of each later run differs from the first run's,
    as in `toolhop compare`, leaving out runs that it refuses to compare.

    Args:
        runs: labels and folders, in order.
    """
    found = [
        _headline((first, label), (folder, other))
        for first, folder in runs[:1]
        for label, other in runs[1:]
    ]
    return [text for text in found if text is not None]


def _headline(labels: tuple[str, str], folders: Sequence[Path]) -> str | None:
    try:
        sides = read_sides(folders, DEFAULTS)
        benchmark = benchmark_of({one.letter: one.episodes.values() for one in sides})
        pairing = pair_up(sides[0], sides[1], common=False, allow_differences=False)
    except NotComparable:
        return None
    found = line(benchmark.lead, pairing.pairs, Options()) if benchmark else None
    if found is None:
        return None
    what, of = _what(labels, pairing), "all episodes"
    return effect(found, Options().confidence, what=what, of=of, planned=pairing.planned)


def _what(labels: tuple[str, str], pairing: Pairing) -> str:
    """Name the setting that differs, or else both runs."""
    if len(pairing.differs) == 1:
        (one,) = pairing.differs
        return f"{one.name.replace('_', ' ').capitalize()} {one.before} → {one.after}"
    return " → ".join(labels)


def _forked(sides: Sequence[EpisodeSide]) -> Iterator[Found]:
    by_key = {one.key: one for one in sides}
    for one in sides:
        parent = by_key.get(one.shared_prefix) if one.shared_prefix else None
        if parent is not None and parent.last_level != one.last_level:
            yield _setting("forked", parent, one), parent, one


def _separate(sides: Iterable[EpisodeSide]) -> Iterator[Found]:
    places: dict[Hashable, dict[str, EpisodeSide]] = defaultdict(dict)
    for one in sides:
        played = one.attempt
        if not played.parent and one.counts and str(played.feedback) == one.last_level:
            place = (played.benchmark, played.agent, played.call_format, played.key)
            places[place].setdefault(one.last_level, one)
    for levels in places.values():
        for first, second in combinations(sorted(levels), 2):
            before, after = levels[first], levels[second]
            yield _setting("separate", before, after), before, after


def _setting(how: str, before: EpisodeSide, after: EpisodeSide) -> PairSetting:
    played = after.attempt
    levels = (before.last_level, after.last_level)
    return PairSetting(how, played.benchmark, played.agent, played.mode, *levels)


def _comparison(
    setting: PairSetting, sides: Sequence[tuple[EpisodeSide, EpisodeSide]]
) -> dict[str, JSON]:
    lead = named(setting.benchmark).lead
    pairs = [(Pair(b.attempt.key, a.attempt, b.attempt), a.key, b.key) for a, b in sides]
    failed = [one for one, _, _ in pairs if one.before.failure or one.after.failure]
    return {
        **setting._asdict(),
        "all": _figures(line(lead, [one for one, _, _ in pairs], Options())),
        "failed": _figures(line(lead, failed, Options())),
        "discordant": [[a, b] for one, a, b in pairs if one.change(lead) is not None],
    }


def _figures(one: Line | None) -> JSON:
    return None if one is None else effect_json(one, Options().confidence)
