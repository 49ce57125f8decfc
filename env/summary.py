"""From the verdicts of many episodes to the figures of a report, with standard errors.

Void episodes enter no mean; they are counted. Episodes of one item (its epochs) are not
independent, so errors are clustered by item: with m items, the standard error of a ratio of sums
R = sum(y) / sum(x) is sqrt(m / (m - 1) * sum((y_i - R x_i)^2)) / sum(x), where i runs over items.
For one episode an item and x = 1 this is the usual standard error of a mean.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from env.feedback import Level
from env.reading import Dialect
from env.score import Score, Verdict, Void, score
from env.trace import Ending, Trace
from env.verdicts import ErrorCode


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and what identifies the episode it belongs to."""

    item: str
    mode: str
    epoch: int
    attempt: int
    player: str
    feedback: Level
    dialect: Dialect
    episode: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share or mean with its standard error."""

    value: float
    stderr: float | None
    """None where a single item gives none."""
    count: int
    """What was averaged over: episodes, calls or hops."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one player in one mode, with one feedback level and one dialect."""

    player: str
    mode: str
    feedback: Level
    dialect: Dialect
    episodes: int
    void: int
    official: Estimate | None
    strict: Estimate | None
    query_error: Estimate | None
    """Share of episodes with a failed call (ToolHop table 4, "Query")."""
    instance_error: Estimate | None
    """Share of calls that failed (ToolHop table 4, "Instance")."""
    hops_solved: Estimate | None
    errors: dict[ErrorCode, int]
    endings: dict[Ending, int]
    turns: Estimate | None
    calls: Estimate | None
    wall_s: Estimate | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where a price was not known."""
    retries: int


def judge(trace: Trace) -> Judged:
    """Score a trace and say which episode it is."""
    start = trace.started
    return Judged(
        item=start.item,
        mode=start.mode,
        epoch=start.epoch,
        attempt=start.attempt,
        player=start.player,
        feedback=start.feedback,
        dialect=start.dialect,
        episode=start.episode,
        verdict=score(trace),
    )


def counting(judged: Iterable[Judged]) -> list[Judged]:
    """One verdict an episode of one run: of its attempts the first not void, else the last.

    Several runs are reduced one by one: the same item twice is one attempt in a run, and two
    episodes in two runs.
    """
    best: dict[tuple[str, str, str, int], Judged] = {}
    for one in sorted(judged, key=lambda j: j.attempt):
        key = (one.player, one.mode, one.item, one.epoch)
        if key not in best or isinstance(best[key].verdict, Void):
            best[key] = one
    return list(best.values())


def summarize(judged: Iterable[Judged]) -> list[Summary]:
    """Figures by player, mode, feedback and dialect, in order of appearance.

    Every verdict counts: reduce attempts first (`counting`).
    """
    groups: dict[tuple[str, str, Level, Dialect], list[Judged]] = defaultdict(list)
    for one in judged:
        groups[(one.player, one.mode, one.feedback, one.dialect)].append(one)
    return [_summary(*names, group) for names, group in groups.items()]


def _summary(
    player: str, mode: str, feedback: Level, dialect: Dialect, group: Sequence[Judged]
) -> Summary:
    pairs = [(one.item, one.verdict) for one in group if isinstance(one.verdict, Score)]
    scores = [verdict for _, verdict in pairs]
    called = [(item, one) for item, one in pairs if one.calls]
    costs = [one.cost_usd for one in scores]
    known = [cost for cost in costs if cost is not None]
    errors: Counter[ErrorCode] = Counter()
    for one in scores:
        errors.update(one.errors)
    return Summary(
        player=player,
        mode=mode,
        feedback=feedback,
        dialect=dialect,
        episodes=len(group),
        void=len(group) - len(pairs),
        official=_ratio(pairs, lambda s: bool(s.official)),
        strict=_ratio(pairs, lambda s: s.strict),
        query_error=_ratio(pairs, lambda s: s.failed_calls > 0),
        instance_error=_ratio(called, lambda s: s.failed_calls, lambda s: s.calls),
        hops_solved=_ratio(pairs, lambda s: s.hops_solved, lambda s: s.hops),
        errors=dict(errors),
        endings=dict(Counter(one.ending for one in scores)),
        turns=_ratio(pairs, lambda s: s.turns),
        calls=_ratio(pairs, lambda s: s.calls),
        wall_s=_ratio(pairs, lambda s: s.wall_s),
        input_tokens=sum(one.input_tokens for one in scores),
        output_tokens=sum(one.output_tokens for one in scores),
        cost_usd=math.fsum(known) if len(known) == len(costs) else None,
        retries=sum(one.retries for one in scores),
    )


def _one(_: Score) -> float:
    return 1.0


def _ratio(
    pairs: Sequence[tuple[str, Score]],
    value: Callable[[Score], float],
    weight: Callable[[Score], float] = _one,
) -> Estimate | None:
    """Sum of values by sum of weights, its standard error clustered by item.

    Sums are exact before they are rounded (`math.fsum`): the order in which episodes ended
    changes no figure.
    """
    parts: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for item, one in pairs:
        parts[item].append((value(one), weight(one)))
    sums = [
        (math.fsum(y for y, _ in group), math.fsum(x for _, x in group)) for group in parts.values()
    ]
    total = math.fsum(x for _, x in sums)
    if not total:
        return None
    ratio = math.fsum(y for y, _ in sums) / total
    stderr = None
    if len(sums) > 1:
        spread = math.fsum((y - ratio * x) ** 2 for y, x in sums)
        stderr = math.sqrt(len(sums) / (len(sums) - 1) * spread) / total
    return Estimate(ratio, stderr, round(total))
