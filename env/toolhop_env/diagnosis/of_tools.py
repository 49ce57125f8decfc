"""Checks of episodes, items and tools, independent of the agent."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from toolhop_env.diagnosis.facts import Seen, SeenCall
from toolhop_env.diagnosis.finding import (
    Finding,
    Severity,
    in_words,
    listed,
    tallied,
    with_score,
)
from toolhop_env.verdicts import ErrorCode
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import counted


def nothing_ended(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Report runs in which no episode ended, as the other checks then find nothing."""
    if not seen:
        yield Finding("nothing_ended", Severity.WARNING, "no episode has ended", ())


def errored_episodes(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find episodes that ended in an error, and attempts that had to be repeated, by cause."""
    for counts, severity, noun, said in (
        (True, Severity.ERROR, "episode", "errored and in no figure"),
        (False, Severity.NOTE, "attempt", "errored and played again"),
    ):
        errored_attempts = [
            (one, one.attempt.errored)
            for one in seen
            if one.counts is counts and not one.left and one.attempt.score is None
        ]
        if errored_attempts:
            causes = causes_of(reason for _, reason in errored_attempts)
            shown = listed(f"{cause} ({count})" for cause, count in causes.most_common())
            yield Finding(
                "errored_episodes" if counts else "errored_attempts",
                severity,
                f"{counted(len(errored_attempts), noun)} {said}: {shown}",
                tuple(one.name for one, _ in errored_attempts),
                {"causes": tallied(causes)},
            )


def causes_of(reasons: Iterable[str]) -> Counter[str]:
    """Count the first lines of reasons, the most frequent first.

    Lines that differ only in numbers are one cause, shown in the words of the first.
    """
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for reason in reasons:
        line = (reason.strip().splitlines() or ["no reason was recorded"])[0]
        counts[first.setdefault(re.sub(r"0x[0-9a-f]+|[0-9]+", "#", line), line)] += 1
    return Counter(dict(counts.most_common()))


LEAST_TRIES = 3
"""Minimum number of tries at an item or hop, or of runs of a tool. A single try suffices for the
oracle."""


def unsolved_items(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find items that no agent solved although those agents solved others."""
    tries: dict[str, list[Seen]] = defaultdict(list)
    solvers: set[str] = set()
    for one in with_score(seen):
        if not one.baseline:
            tries[one.item].append(one)
            if one.solved:
                solvers.add(one.attempt.agent)
    cases = {
        item: group
        for item, group in tries.items()
        if not any(one.solved for one in group)
        and (_by_oracle(group) or (len(group) >= LEAST_TRIES and _agents(group) & solvers))
    }
    if cases:
        shown = listed(
            f"{item} ({counted(len(group), 'episode')})" for item, group in cases.items()
        )
        sure = any(_by_oracle(group) for group in cases.values())
        evidence: dict[str, JSON] = {item: _tries(group) for item, group in cases.items()}
        yield Finding(
            "unsolved_items",
            Severity.WARNING if sure else Severity.NOTE,
            f"{counted(len(cases), 'item')} never solved: {shown}",
            tuple(one.name for group in cases.values() for one in group),
            evidence,
        )


def _tries(group: Sequence[Seen]) -> JSON:
    others = group[0].benchmark.answer_measures[1:]
    right: dict[str, JSON] = {m.name: sum(one.has(m) for one in group) for m in others}
    return {
        "tries": len(group),
        "agents": [*sorted(_agents(group))],
        **right,
        "most_milestones": max(sum(one.attempt.milestones) for one in group),
        "milestones": len(group[0].milestones),
    }


def _agents(group: Iterable[Seen]) -> set[str]:
    return {one.attempt.agent for one in group}


def _by_oracle(group: Iterable[Seen]) -> bool:
    return any(one.by_oracle for one in group)


def silent_milestones(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find milestones whose tool succeeds although no tool ever returns what is expected."""
    ran: dict[tuple[str, int], list[tuple[Seen, SeenCall]]] = defaultdict(list)
    returned: set[tuple[str, int]] = set()
    for one in with_score(seen):
        for place, milestone in enumerate(one.milestones):
            key = (one.item, place)
            if place in one.returned or milestone.reached:
                returned.add(key)
            calls = [call for call in one.calls if call.tool == milestone.label]
            ran[key] += [(one, call) for call in calls if not call.error]
    cases = {
        key: calls
        for key, calls in ran.items()
        if key not in returned
        and (len(_asked(calls)) >= LEAST_TRIES or _by_oracle(one for one, _ in calls))
    }
    if cases:
        called = {key: calls[0][0].benchmark.presentation.milestone for key, calls in cases.items()}
        names = {key: f"{key[0]} {called[key]} {key[1] + 1}" for key in cases}
        yield Finding(
            "silent_milestones",
            Severity.WARNING,
            f"{len(cases)} milestones were never reached, though their tools ran: "
            + listed(
                f"{names[key]} ({counted(len(calls), 'call')})" for key, calls in cases.items()
            ),
            tuple(dict.fromkeys(one.name for calls in cases.values() for one, _ in calls)),
            {names[key]: _silent(key[1], calls) for key, calls in cases.items()},
        )


def _silent(place: int, calls: Sequence[tuple[Seen, SeenCall]]) -> JSON:
    milestone = calls[0][0].milestones[place]
    return {"tool": milestone.label, "gold": milestone.expected, "calls": len(calls)}


def _asked(calls: Iterable[tuple[Seen, SeenCall]]) -> set[str]:
    """Return the distinct arguments of calls."""
    return {call.arguments for _, call in calls}


def failing_tools(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find tools whose calls all failed, over at least `LEAST_TRIES` different arguments."""
    by_tool: dict[tuple[str, str], list[tuple[Seen, SeenCall]]] = defaultdict(list)
    for one in with_score(seen):
        for call in one.calls:
            if call.error is not ErrorCode.UNKNOWN_TOOL:
                by_tool[call.tool, one.item].append((one, call))
    cases = {
        key: calls
        for key, calls in by_tool.items()
        if all(call.error for _, call in calls)
        and (len(_asked(calls)) >= LEAST_TRIES or _by_oracle(one for one, _ in calls))
    }
    if cases:
        ran = any(call.ran for calls in cases.values() for _, call in calls)
        codes = {key: Counter(str(call.error) for _, call in calls) for key, calls in cases.items()}
        shown = (f"{key[0]} of {key[1]} ({in_words(codes[key])})" for key in cases)
        yield Finding(
            "failing_tools",
            Severity.ERROR if ran else Severity.WARNING,
            f"{counted(len(cases), 'tool')} failed in every call: {listed(shown)}",
            tuple(dict.fromkeys(one.name for calls in cases.values() for one, _ in calls)),
            {
                f"{key[1]} {key[0]}": {"calls": len(calls), "codes": tallied(codes[key])}
                for key, calls in cases.items()
            },
        )


def refused_tools(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find tools that the policy refuses, so that no agent can use them."""
    yield from _by_code(
        seen,
        "refused_tools",
        {ErrorCode.REFUSED},
        "tools are refused by the policy",
        lambda _: True,
    )


LIMIT_CALLS = 3
LIMIT_SHARE = 0.01
"""Number and share of calls that hit a limit from which the finding is a warning."""


def tools_at_limits(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Find calls that ran out of time or memory, by tool."""
    total = sum(len(one.calls) for one in with_score(seen))
    yield from _by_code(
        seen,
        "tools_at_limits",
        {ErrorCode.TIMED_OUT, ErrorCode.OUT_OF_MEMORY},
        "tools ran out of time or memory",
        lambda calls: calls >= LIMIT_CALLS and calls >= LIMIT_SHARE * total,
    )


def _by_code(
    seen: Sequence[Seen],
    kind: str,
    codes: set[ErrorCode],
    said: str,
    warns: Callable[[int], bool],
) -> Iterator[Finding]:
    hit = [(one, call) for one in with_score(seen) for call in one.calls if call.error in codes]
    if hit:
        by_tool = Counter(f"{call.tool} of {one.item}" for one, call in hit)
        shown = listed(
            f"{tool} ({counted(count, 'call')})" for tool, count in by_tool.most_common()
        )
        yield Finding(
            kind,
            Severity.WARNING if warns(len(hit)) else Severity.NOTE,
            f"{len(by_tool)} {said}: {shown}",
            tuple(dict.fromkeys(one.name for one, _ in hit)),
            {"calls": len(hit), "tools": tallied(by_tool)},
        )
