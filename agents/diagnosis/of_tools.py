"""Checks of episodes, items and tools: what was played, rather than who played it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from agents.diagnosis.facts import ORACLE, Seen, SeenCall
from agents.diagnosis.finding import Finding, Severity, in_words, listed, tallied, with_score
from env.score import Void
from env.verdicts import ErrorCode
from sandbox.outcome import JSON


def nothing_ended(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Runs in which no episode has ended: that no other check finds anything says nothing."""
    if not seen:
        yield Finding("nothing_ended", Severity.WARNING, "no episode has ended", ())


def void_episodes(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Episodes that were never judged, and attempts that had to be played again, by cause."""
    for counts, severity, said in (
        (True, Severity.ERROR, "episodes are void and in no figure"),
        (False, Severity.NOTE, "attempts were void and were played again"),
    ):
        voids = [
            (one, verdict.reason)
            for one in seen
            if one.counts is counts
            and not one.left
            and isinstance(verdict := one.judged.verdict, Void)
        ]
        if voids:
            causes = Counter(cause(reason) for _, reason in voids)
            told = listed(f"{count} times: {cause}" for cause, count in causes.most_common())
            yield Finding(
                "void_episodes" if counts else "void_attempts",
                severity,
                f"{len(voids)} {said}: {told}",
                tuple(one.name for one, _ in voids),
                {"causes": tallied(causes)},
            )


def cause(reason: str) -> str:
    """A reason without what differs from case to case."""
    first = (reason.strip().splitlines() or ["no reason was recorded"])[0]
    return re.sub(r"0x[0-9a-f]+|[0-9]+", "#", first)[:160]


LEAST_TRIES = 3
"""Tries at an item or a hop, and runs of a tool, that tell something. The oracle's first does."""


def unsolved_items(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Items that no player solved, where those players solved others."""
    tries: dict[str, list[Seen]] = defaultdict(list)
    solvers: set[str] = set()
    for one in with_score(seen):
        if not one.baseline:
            tries[one.item].append(one)
            if one.score and one.score.strict:
                solvers.add(one.judged.player)
    cases = {
        item: group
        for item, group in tries.items()
        if not any(one.score and one.score.strict for one in group)
        and (_by_oracle(group) or (len(group) >= LEAST_TRIES and _players(group) & solvers))
    }
    if cases:
        told = listed(f"{item} ({len(group)} tries)" for item, group in cases.items())
        sure = any(_by_oracle(group) for group in cases.values())
        evidence: dict[str, JSON] = {item: _tries(group) for item, group in cases.items()}
        yield Finding(
            "unsolved_items",
            Severity.WARNING if sure else Severity.NOTE,
            f"{len(cases)} items were never solved: {told}",
            tuple(one.name for group in cases.values() for one in group),
            evidence,
        )


def _tries(group: Sequence[Seen]) -> JSON:
    return {
        "tries": len(group),
        "players": [*sorted(_players(group))],
        "official": sum(bool(one.score and one.score.official) for one in group),
        "most_hops": max(one.score.hops_solved for one in group if one.score),
        "hops": len(group[0].hop_tools),
    }


def _players(group: Iterable[Seen]) -> set[str]:
    return {one.judged.player for one in group}


def _by_oracle(group: Iterable[Seen]) -> bool:
    return any(one.judged.player == ORACLE and one.judged.mode != "direct" for one in group)


def silent_hops(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Hops whose tool succeeds, while no tool ever returns the hop's answer."""
    ran: dict[tuple[str, int], list[tuple[Seen, SeenCall]]] = defaultdict(list)
    given: set[tuple[str, int]] = set()
    for one in with_score(seen):
        for hop, tool in enumerate(one.hop_tools):
            key = (one.item, hop)
            if hop in one.given:
                given.add(key)
            ran[key] += [(one, call) for call in one.calls if call.tool == tool and not call.error]
    cases = {
        key: calls
        for key, calls in ran.items()
        if key not in given
        and (len(_asked(calls)) >= LEAST_TRIES or _by_oracle(one for one, _ in calls))
    }
    if cases:
        names = {key: (f"{key[0]} hop {key[1] + 1}", calls) for key, calls in cases.items()}
        yield Finding(
            "silent_hops",
            Severity.WARNING,
            f"{len(cases)} hops never gave their answer, though their tools ran: "
            + listed(f"{name} ({len(calls)} calls)" for name, calls in names.values()),
            tuple(dict.fromkeys(one.name for calls in cases.values() for one, _ in calls)),
            {
                name: {
                    "tool": calls[0][0].hop_tools[key[1]],
                    "gold": calls[0][0].hop_answers[key[1]],
                    "calls": len(calls),
                }
                for key, (name, calls) in names.items()
            },
        )


def _asked(calls: Iterable[tuple[Seen, SeenCall]]) -> set[str]:
    """The different arguments of calls."""
    return {call.arguments for _, call in calls}


def failing_tools(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Tools that no call got a result from: with `LEAST_TRIES` different arguments or more."""
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
        told = (f"{key[0]} of {key[1]} ({in_words(codes[key])})" for key in cases)
        yield Finding(
            "failing_tools",
            Severity.ERROR if ran else Severity.WARNING,
            f"{len(cases)} tools failed in every call: {listed(told)}",
            tuple(dict.fromkeys(one.name for calls in cases.values() for one, _ in calls)),
            {
                f"{key[1]} {key[0]}": {"calls": len(calls), "codes": tallied(codes[key])}
                for key, calls in cases.items()
            },
        )


def refused_tools(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Tools that the policy does not run: whoever plays cannot use them."""
    yield from _by_code(
        seen,
        "refused_tools",
        {ErrorCode.REFUSED},
        "tools are refused by the policy",
        lambda _: True,
    )


LIMIT_CALLS = 3
LIMIT_SHARE = 0.01
"""Calls that end at a limit, absolutely and of all calls, from which they are a warning."""


def tools_at_limits(seen: Sequence[Seen]) -> Iterator[Finding]:
    """Calls that ran out of time or memory, by tool."""
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
        told = listed(f"{tool} ({count} calls)" for tool, count in by_tool.most_common())
        yield Finding(
            kind,
            Severity.WARNING if warns(len(hit)) else Severity.NOTE,
            f"{len(by_tool)} {said}: {told}",
            tuple(dict.fromkeys(one.name for one, _ in hit)),
            {"calls": len(hit), "tools": tallied(by_tool)},
        )
