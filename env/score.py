"""Scores of one episode: pure functions of its trace.

A void episode has no score; it is counted, and left out of every mean.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from env.answers import official, strict
from env.feedback import result_value
from env.messages import Origin
from env.spending import cost_of
from env.trace import Called, Ending, Trace
from env.verdicts import ErrorCode
from sandbox.outcome import Returned
from toolhop_tools.answers import holds


@dataclass(frozen=True, slots=True)
class Score:
    """What a finished episode is worth."""

    official: bool | None
    """ToolHop's answer rule; None where it leaves the answer unset (counted as wrong)."""
    strict: bool
    """Our rule: the tagged answer equals the gold."""
    in_last_feedback: bool
    """The gold was in the last tool feedback, by value. Credit the official rule gives for it.
    Not so for a result that says it is an error: minimal feedback does not show it."""
    ending: Ending
    turns: int
    calls: int
    errors: dict[ErrorCode, int]
    """Failed calls by code; a call counts once, under its first problem's code."""
    repairable: int
    """Rejected calls that a lenient reader would have run."""
    hops: int
    hops_solved: int
    """Hops whose tool returned the hop's gold sub-answer, in any call, in any order."""
    chain: int
    """Hops solved from the first on without a gap."""
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where a reply's price is not known."""
    wall_s: float
    tool_s: float
    """Seconds that tools ran."""
    retries: int
    """Requests to the model that were sent again."""
    prompt_cached_tokens: int = 0
    """Of the input tokens, those that the provider had at hand."""
    cached_replies: int = 0
    """Replies that a response cache gave; nothing of them is in the tokens and the cost above."""
    saved_input_tokens: int = 0
    """Those replies' tokens."""
    saved_output_tokens: int = 0
    saved_usd: float | None = 0.0
    """What those cost when they were asked for; None where a price is not known."""

    @property
    def failed_calls(self) -> int:
        """Calls that failed, by whatever code."""
        return sum(self.errors.values())


@dataclass(frozen=True, slots=True)
class Void:
    """An episode that could not be judged, for a reason that is not the player's."""

    reason: str


Verdict: TypeAlias = Score | Void


def score(trace: Trace) -> Verdict:
    """Judge a trace. An episode without an end is void: something cut it off."""
    ended = trace.ended
    if ended is None:
        return Void("the episode was cut off before its end")
    if ended.ending is Ending.VOID:
        return Void(ended.reason)
    started, calls = trace.started, trace.calls
    solved = solved_hops(trace)
    cached = [event.reply for event in trace.replies if event.reply.origin is Origin.CACHED]
    paid = [event.reply for event in trace.replies if event.reply.origin is not Origin.CACHED]
    return Score(
        official=official(started.answer, trace.conversation()),
        strict=strict(started.answer, trace.final_text),
        in_last_feedback=bool(calls) and holds_answer(calls[-1], started.answer),
        ending=ended.ending,
        turns=len(trace.replies),
        calls=len(calls),
        errors=dict(Counter(call.error for call in calls if call.error is not None)),
        repairable=sum(repair_of(call) for call in calls),
        hops=len(solved),
        hops_solved=sum(solved),
        chain=(*solved, False).index(False),
        input_tokens=sum(reply.usage.input_tokens for reply in paid),
        output_tokens=sum(reply.usage.output_tokens for reply in paid),
        cost_usd=cost_of(paid),
        wall_s=ended.wall_s,
        tool_s=round(sum(call.wall_s for call in calls), 6),
        retries=sum(event.reply.retries for event in trace.replies),
        prompt_cached_tokens=sum(reply.usage.prompt_cached_tokens for reply in paid),
        cached_replies=len(cached),
        saved_input_tokens=sum(reply.usage.input_tokens for reply in cached),
        saved_output_tokens=sum(reply.usage.output_tokens for reply in cached),
        saved_usd=cost_of(cached),
    )


def repair_of(call: Called) -> bool:
    """Whether the call was rejected, and a lenient reader would have run it."""
    return getattr(call.verdict, "repair", None) is not None


def solved_hops(trace: Trace) -> tuple[bool, ...]:
    """By hop: whether a call of the hop's tool returned the hop's gold sub-answer."""
    hops = trace.started.hops
    return tuple(
        any(call.raw.name == tool and holds_answer(call, answer) for call in trace.calls)
        for tool, answer in zip(hops.tools, hops.answers, strict=True)
    )


def holds_answer(call: Called, answer: str) -> bool:
    """Whether a call succeeded and its result is `answer`, or has it as a leaf (by value)."""
    if call.error is not None or not isinstance(call.outcome, Returned):
        return False
    return holds(result_value(call.outcome), answer)
