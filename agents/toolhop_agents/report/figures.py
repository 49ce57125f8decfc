"""The figures of a report as plain values: measures, summaries by run, and calls by milestone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolhop_env.attempt import Attempt, counting
from toolhop_env.benchmark import Benchmark
from toolhop_env.estimates import Estimate, Totals
from toolhop_env.facets import in_order, splitting
from toolhop_env.measures import Measure
from toolhop_env.summary import Group, Summary, summarize
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON

GROUP_KEY = ("run", "benchmark", "agent", "mode", "level", "call_format")
"""What tells groups apart: a group is one run's episodes of one agent, mode and so on."""


@dataclass(frozen=True, slots=True)
class Played:
    """What figures need of one episode, so that its trace can be let go."""

    attempt: Attempt
    calls: tuple[tuple[int | None, bool], ...]
    """By call: the milestone (from 0) whose tool it called, if any, and whether it failed."""


def played(trace: Trace, attempt: Attempt) -> Played:
    """What figures need of a trace."""
    most = len(attempt.milestones)
    return Played(
        attempt,
        tuple(
            (call.hop if call.hop is not None and call.hop < most else None, call.error is not None)
            for call in trace.tool_calls
        ),
    )


def benchmark_part(benchmark: Benchmark) -> JSON:
    """What the page needs to know of a benchmark: it names none of its measures itself."""
    return {
        "title": benchmark.title,
        "milestone": benchmark.milestone,
        "lead": benchmark.lead.name,
        "answers": [one.name for one in benchmark.answer_measures],
        "measures": [measure_part(one) for one in benchmark.measures],
        "totals": {one.name: one.says for one in benchmark.totals},
    }


def measure_part(measure: Measure) -> JSON:
    """A measure without its code."""
    return {
        "name": measure.name,
        "heading": measure.heading,
        "says": measure.says,
        "unit": str(measure.unit),
        "scorer": str(measure.scorer),
        "binary": measure.binary,
        "in_tables": measure.in_tables,
    }


def counted(run: Iterable[Played]) -> set[str]:
    """Names of the episodes that count: no unfinished ones, one attempt each."""
    ended = [one.attempt for one in run if one.attempt.ended]
    return {one.episode for one in counting(ended)}


def groups(run: int, episodes: Sequence[Played]) -> list[dict[str, JSON]]:
    """The rows of one run, in order of appearance.

    Unfinished episodes are left out of every figure, and counted: a run that is under way has
    some at any time, and they are not faults.
    """
    keep = counted(episodes)
    counts = [one for one in episodes if one.attempt.episode in keep]
    summaries = {one.group: one for one in summarize(one.attempt for one in counts)}
    open_ = Counter(Group.of(one.attempt) for one in episodes if not one.attempt.ended)
    return [
        {
            "run": run,
            "benchmark": group.benchmark,
            "agent": group.agent,
            "mode": group.mode,
            "level": str(group.feedback),
            "call_format": str(group.call_format),
            "unfinished": open_[group],
            **_by_milestone([one for one in counts if Group.of(one.attempt) == group]),
            "facets": _by_facet([one.attempt for one in counts if Group.of(one.attempt) == group]),
            **_summary(summaries.get(group)),
            "totals": _totals(summaries.get(group)),
        }
        for group in dict.fromkeys([*summaries, *open_])
    ]


def _by_facet(attempts: Sequence[Attempt]) -> dict[str, JSON]:
    """By facet of the benchmark the figures of each of its values, in their order."""
    found: dict[str, JSON] = {}
    for facet in dict.fromkeys(name for one in attempts for name in one.facets):
        parts = summarize(attempts, splitting(facet, attempts, {}))
        found[facet] = [
            {"value": one.group.part, **_summary(one)}
            for one in sorted(parts, key=lambda one: in_order(one.group.part))
        ]
    return found


def _by_milestone(episodes: Sequence[Played]) -> dict[str, JSON]:
    """By milestone [episodes that have it, calls, failed ones, episodes that reached it]."""
    most = max((len(one.attempt.milestones) for one in episodes), default=0)
    calls = Counter(call for one in episodes for call in one.calls)
    rows: list[JSON] = []
    for place in range(most):
        reached = [m[place] for m in (one.attempt.milestones for one in episodes) if place < len(m)]
        failed = calls[place, True]
        rows.append([len(reached), calls[place, False] + failed, failed, sum(reached)])
    other = calls[None, True]
    return {"milestones": rows, "other": [len(episodes), calls[None, False] + other, other, 0]}


def _summary(one: Summary | None) -> dict[str, JSON]:
    if one is None:
        return {"episodes": 0, "errored": 0, "figures": {}, "errors": {}, "endings": {}}
    return {
        "episodes": one.episodes,
        "errored": one.errored,
        "figures": {name: estimate(found) for name, found in one.figures.items()},
        "errors": {str(code): count for code, count in one.errors.items()},
        "endings": {str(ending): count for ending, count in one.endings.items()},
        "tokens": [one.spent.input_tokens, one.spent.output_tokens],
        "cost": one.spent.cost_usd,
        "retries": one.spent.requests - one.spent.replies,
    }


def _totals(one: Summary | None) -> JSON:
    """Of the group's agent in the run, over all modes: the same for each mode's group."""
    found: Totals = {} if one is None else one.totals
    return {
        total: {name: estimate(figure) for name, figure in by_measure.items()}
        for total, by_measure in found.items()
    }


def estimate(value: Estimate | None) -> JSON:
    """An estimate as [value, standard error or null, count]."""
    return None if value is None else [value.value, value.stderr, value.count]
