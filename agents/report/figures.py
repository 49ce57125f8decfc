"""The figures of a report: those of `agents.table`, by run, and calls by hop."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from env.summary import Estimate, Judged, Summary, counting, summarize
from env.trace import Trace
from sandbox.outcome import JSON

GroupKey = tuple[str, str, str, str]
"""Player, mode, feedback level, dialect."""


@dataclass
class HopCount:
    """What became of one place in the chain, over many episodes."""

    episodes: int = 0
    calls: int = 0
    failed: int = 0
    solved: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What figures need of one episode, so that its trace can be let go."""

    judged: Judged
    finished: bool
    hops: tuple[HopCount, ...]
    other: HopCount
    """Calls of no hop's tool."""

    @property
    def group(self) -> GroupKey:
        """The row of the table that the episode belongs to."""
        one = self.judged
        return (one.player, one.mode, str(one.feedback), str(one.dialect))


def facts(trace: Trace, judged: Judged, solved: Sequence[bool]) -> Facts:
    """What figures need of a trace."""
    hops = tuple(HopCount(episodes=1, solved=int(one)) for one in solved)
    other = HopCount(episodes=1)
    for call in trace.calls:
        known = call.hop is not None and 0 <= call.hop < len(hops)
        place = hops[call.hop or 0] if known else other
        place.calls += 1
        place.failed += call.error is not None
    return Facts(judged, trace.ended is not None, hops, other)


@dataclass
class Group:
    """A row of the table: one run's episodes with one player, mode, level and dialect."""

    run: int
    key: GroupKey
    summary: Summary | None
    """None where no episode has ended."""
    unfinished: int
    hops: list[HopCount] = field(default_factory=list)
    other: HopCount = field(default_factory=HopCount)

    def plain(self) -> dict[str, JSON]:
        """The group as plain values."""
        player, mode, level, dialect = self.key
        head: dict[str, JSON] = {
            "run": self.run,
            "player": player,
            "mode": mode,
            "level": level,
            "dialect": dialect,
            "unfinished": self.unfinished,
            "hops": [_counts(hop) for hop in self.hops],
            "other": _counts(self.other),
        }
        return {**head, **_summary(self.summary)}


def _counts(hop: HopCount) -> JSON:
    return [hop.episodes, hop.calls, hop.failed, hop.solved]


def counted(run: Sequence[Facts]) -> set[tuple[str, int]]:
    """Names and attempts of the episodes that count: no unfinished ones, one attempt each."""
    finished = [one.judged for one in run if one.finished]
    return {(one.episode, one.attempt) for one in counting(finished)}


def groups(run: int, episodes: Sequence[Facts]) -> list[Group]:
    """The rows of one run, in order of appearance.

    Unfinished episodes are left out of every figure, and counted: a run that is under way has
    some at any time, and they are no faults.
    """
    keep = counted(episodes)
    counts = [e for e in episodes if (e.judged.episode, e.judged.attempt) in keep and e.finished]
    summaries = {
        (one.player, one.mode, str(one.feedback), str(one.dialect)): one
        for one in summarize(one.judged for one in counts)
    }
    unfinished = Counter(one.group for one in episodes if not one.finished)
    return [
        Group(
            run,
            key,
            summaries.get(key),
            unfinished[key],
            *_by_hop(one for one in counts if one.group == key),
        )
        for key in dict.fromkeys([*summaries, *unfinished])
    ]


def _by_hop(episodes: Iterable[Facts]) -> tuple[list[HopCount], HopCount]:
    places: dict[int, HopCount] = defaultdict(HopCount)
    other = HopCount()
    for one in episodes:
        for index, hop in enumerate(one.hops):
            _add(places[index], hop)
        _add(other, one.other)
    return [places[index] for index in sorted(places)], other


def _add(total: HopCount, part: HopCount) -> None:
    total.episodes += part.episodes
    total.calls += part.calls
    total.failed += part.failed
    total.solved += part.solved


def _summary(one: Summary | None) -> dict[str, JSON]:
    if one is None:
        return {"episodes": 0, "void": 0, "errors": {}, "endings": {}}
    return {
        "episodes": one.episodes,
        "void": one.void,
        "official": estimate(one.official),
        "strict": estimate(one.strict),
        "query": estimate(one.query_error),
        "instance": estimate(one.instance_error),
        "solved": estimate(one.hops_solved),
        "errors": {str(code): count for code, count in one.errors.items()},
        "endings": {str(ending): count for ending, count in one.endings.items()},
        "turns": estimate(one.turns),
        "calls": estimate(one.calls),
        "wall": estimate(one.wall_s),
        "tokens": [one.input_tokens, one.output_tokens],
        "cost": one.cost_usd,
        "retries": one.retries,
    }


def estimate(value: Estimate | None) -> JSON:
    """An estimate as [value, standard error or null, count]."""
    return None if value is None else [value.value, value.stderr, value.count]
