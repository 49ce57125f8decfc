"""What replies took: what was paid for them, and what a response cache saved.

A reply is paid for where it is asked. One that was taken from a response cache costs nothing
again; its figures are counted apart, as saved. Turns that were kept from another episode were
paid for there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from toolhop_env.messages import Amount, Count, Origin, Reply
from toolhop_env.trace import Trace


@dataclass(frozen=True, slots=True)
class Spent:
    """Sums over replies. They can be added: ``Spent() + one + other``."""

    replies: Count = 0
    """Replies that were asked for."""
    requests: Count = 0
    """The same with the requests that failed before them."""
    input_tokens: Count = 0
    output_tokens: Count = 0
    prompt_cached_tokens: Count = 0
    """Of the input tokens, those that the provider had at hand."""
    reasoning_tokens: Count = 0
    """Of the output tokens, those of thoughts."""
    cost_usd: Amount | None = 0.0
    """None where the price of a reply is not known."""
    cached_replies: Count = 0
    """Replies that a response cache gave."""
    saved_tokens: Count = 0
    """Input and output tokens of those."""
    saved_usd: Amount | None = 0.0
    """What those cost when they were asked for; None where a price is not known."""
    calls: Count = 0
    """Tool calls, the rejected ones included."""

    @property
    def tokens(self) -> int:
        """Input and output tokens that were paid for."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Spent) -> Spent:
        names = [one.name for one in fields(Spent)]
        sums: dict[str, Any] = {n: _sum(getattr(self, n), getattr(other, n)) for n in names}
        return Spent(**sums)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def spent_on(replies: Iterable[Reply], calls: int = 0) -> Spent:
    """What `replies` took. One from the attempt before was paid for there, and counts nowhere."""
    asked, cached = [], []
    for reply in replies:
        if reply.origin is Origin.CACHED:
            cached.append(reply)
        elif reply.origin is Origin.ASKED:
            asked.append(reply)
    return Spent(
        replies=len(asked),
        requests=len(asked) + sum(reply.retries for reply in asked),
        input_tokens=sum(reply.usage.input_tokens for reply in asked),
        output_tokens=sum(reply.usage.output_tokens for reply in asked),
        prompt_cached_tokens=sum(reply.usage.prompt_cached_tokens for reply in asked),
        reasoning_tokens=sum(reply.usage.reasoning_tokens for reply in asked),
        cost_usd=cost_of(asked),
        cached_replies=len(cached),
        saved_tokens=sum(one.usage.input_tokens + one.usage.output_tokens for one in cached),
        saved_usd=cost_of(cached),
        calls=calls,
    )


def spent(trace: Trace) -> Spent:
    """What this attempt itself took: turns kept from another one were paid for there."""
    kept = trace.started.prefix_turns
    own = [event.reply for event in trace.replies if event.turn > kept]
    return spent_on(own, sum(call.turn > kept for call in trace.tool_calls))


def cost_of(replies: Iterable[Reply]) -> float | None:
    """Sum of the prices; None where one is not known."""
    costs = [reply.usage.cost_usd for reply in replies]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None
