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

from env.levels import Verbosity
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
    feedback: Verbosity
    dialect: Dialect
    episode: str
    verdict: Verdict
    proven: bool | None = None
    """Whether a certificate proves the item; None where nothing is known of it."""


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
    feedback: Verbosity
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
    prompt_cached_tokens: int = 0
    """Of the input tokens, those that the provider had at hand."""
    cached_replies: int = 0
    """Replies that a response cache gave; in no other figure of tokens and cost."""
    saved_tokens: int = 0
    saved_usd: float | None = 0.0
    """None where a price was not known."""
    proven: int | None = None
    """Episodes of items that certificates prove, void ones left out; None where none is known."""
    official_proven: Estimate | None = None
    strict_proven: Estimate | None = None


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
    groups: dict[tuple[str, str, Verbosity, Dialect], list[Judged]] = defaultdict(list)
    for one in judged:
        groups[(one.player, one.mode, one.feedback, one.dialect)].append(one)
    return [_summary(*names, group) for names, group in groups.items()]


def _summary(
    player: str, mode: str, feedback: Verbosity, dialect: Dialect, group: Sequence[Judged]
) -> Summary:
    pairs = [(one.item, one.verdict) for one in group if isinstance(one.verdict, Score)]
    certain = {one.item for one in group if one.proven}
    proven = [(item, one) for item, one in pairs if item in certain]
    certified = any(one.proven is not None for one in group)
    scores = [verdict for _, verdict in pairs]
    called = [(item, one) for item, one in pairs if one.calls]
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
        cost_usd=_total(one.cost_usd for one in scores),
        retries=sum(one.retries for one in scores),
        prompt_cached_tokens=sum(one.prompt_cached_tokens for one in scores),
        cached_replies=sum(one.cached_replies for one in scores),
        saved_tokens=sum(one.saved_input_tokens + one.saved_output_tokens for one in scores),
        saved_usd=_total(one.saved_usd for one in scores),
        proven=len(proven) if certified else None,
        official_proven=_ratio(proven, lambda s: bool(s.official)),
        strict_proven=_ratio(proven, lambda s: s.strict),
    )


def _total(prices: Iterable[float | None]) -> float | None:
    """Their sum, whatever their order; None where one is not known."""
    given = list(prices)
    known = [price for price in given if price is not None]
    return math.fsum(known) if len(known) == len(given) else None


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
