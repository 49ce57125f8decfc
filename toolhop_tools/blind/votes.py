"""Votes of readers on a chain, and their combined verdict. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from toolhop_sandbox.outcome import JSON
from toolhop_tools.answers import same_answer
from toolhop_tools.blind.chain import Chain
from toolhop_tools.blind.plan import SHOWN, Plan
from toolhop_tools.blind.run import StepRun

VERSION = 2
"""Version of running and judging plans. Increased with every change that can affect a vote."""


class Vote(StrEnum):
    """The verdict on one reader's plan."""

    AGREES = "agrees"
    """The plan reaches the gold through every hop and, with a sibling's literals, its answer."""
    DIFFERS = "differs"
    """The plan reaches another answer without an error."""
    BREAKS = "breaks"
    """A step of the plan fails or returns no value."""
    ELSEWHERE = "elsewhere"
    """The plan reaches the gold, but not through every hop."""
    DOUBTS = "doubts"
    """The reader finds that no tool provides what is asked, or that the question is ambiguous."""
    LUCK = "luck"
    """The plan reaches the gold through every hop, but not the sibling's answer."""
    MALFORMED = "malformed"
    """The reply has no executable plan, even after one repair."""


class ReadStatus(StrEnum):
    """The combined verdict of the readers on an item."""

    READ = "read"
    DISPUTED = "disputed"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Ballot:
    """The vote of one reader on one question."""

    model: str
    sample: int
    """Number of the reply of this model, from 1."""
    vote: Vote
    words: str = ""
    """Remarks of the reader, or the outcome of the plan; untrusted, cut to `SHOWN` characters."""
    hops: tuple[int, ...] = ()
    """Numbers of the hops whose answers their own tools returned."""
    steps: tuple[dict[str, JSON], ...] = ()
    """Steps as they were run; see `StepRun.to_json`."""


def hops_met(runs: Sequence[StepRun], chain: Chain) -> tuple[int, ...]:
    """Return the numbers of the hops whose own tool returned their answer in some step."""
    valued = [run for run in runs if run.value is not None]
    return tuple(
        hop.number
        for hop in chain.hops
        if any(run.step.tool == hop.tool and hop.holds(run.part) for run in valued)
    )


def vote_of(plan: Plan, runs: Sequence[StepRun], chain: Chain) -> tuple[Vote, str]:
    """Return a plan's vote before a sibling is tried, and an explanation.

    Answers are compared under the strict rule.
    """
    if plan.doubt:
        return Vote.DOUBTS, plan.doubt[:SHOWN]
    if not comes_through(plan, runs):
        return Vote.BREAKS, f"step {len(runs)}: {runs[-1]}"
    if not _is_answer(runs[-1], chain):
        return Vote.DIFFERS, f"comes to {runs[-1].value}"[:SHOWN]
    met = hops_met(runs, chain)
    missed = [f"{hop.number} ({hop.tool})" for hop in chain.hops if hop.number not in met]
    if missed:
        return Vote.ELSEWHERE, f"not through hop {', '.join(missed)}"
    return Vote.AGREES, ""


def unfed(runs: Sequence[StepRun], chain: Chain) -> str:
    """Return why an agreeing plan may bypass the chain; empty if it does not.

    A plan bypasses the chain if it calls, with literals only, a hop that takes an earlier answer. A
    sibling, if there is one, reveals the same.
    """
    for hop in chain.hops:
        met = [run for run in runs if run.step.tool == hop.tool and hop.holds(run.part)]
        if hop.takes and met and not any(run.step.takes for run in met):
            return f"hop {hop.number} ({hop.tool}) is called without the value of a step before it"
    return ""


def comes_through(plan: Plan, runs: Sequence[StepRun]) -> bool:
    """Whether every step of a plan gave a value."""
    return len(runs) == len(plan.steps) and runs[-1].value is not None


def sibling_vote(plan: Plan, runs: Sequence[StepRun], chain: Chain) -> tuple[Vote, str]:
    """Return the vote of an agreeing plan by its answer for the sibling, and an explanation.

    Plan, runs and chain are those of the sibling.
    """
    if comes_through(plan, runs) and _is_answer(runs[-1], chain):
        return Vote.AGREES, ""
    gave = runs[-1].value if comes_through(plan, runs) else "no value"
    return Vote.LUCK, f"with another record it comes to {gave}, not {chain.answer}"[:SHOWN]


def _is_answer(run: StepRun, chain: Chain) -> bool:
    if run.value is not None and same_answer(chain.answer, run.value):
        return True
    # The last hop's result may contain the answer in another notation.
    last = chain.hops[-1]
    return (
        same_answer(chain.answer, last.answer)
        and run.step.tool == last.tool
        and last.holds(run.part)
    )


def decide(ballots: Sequence[Ballot], k: int) -> ReadStatus:
    """Combine k ballots: read if at least k - 1 (or the only one) agree and none differs.

    An item with fewer than k ballots is not read yet.

    Raises:
        ValueError: k is less than 1, or there are more than k ballots.
    """
    if k < 1 or len(ballots) > k:
        raise ValueError(f"{len(ballots)} ballots of {k}: k is at least 1, and ballots at most k")
    if len(ballots) < k:
        return ReadStatus.UNREAD
    counts = Counter(ballot.vote for ballot in ballots)
    agreed = counts[Vote.AGREES] >= max(1, k - 1) and not counts[Vote.DIFFERS]
    return ReadStatus.READ if agreed else ReadStatus.DISPUTED
