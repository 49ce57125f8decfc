"""Tokens and cost of replies: what was paid, and what a response cache saved.

A reply is paid for when it is requested. A reply from a response cache costs nothing; its figures
are counted separately, as saved. Turns adopted from another episode were paid for there.
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
    """Number of replies requested."""
    requests: Count = 0
    """Number of requests: those replies, and the failed requests before them."""
    input_tokens: Count = 0
    output_tokens: Count = 0
    prompt_cached_tokens: Count = 0
    """Input tokens that the provider had cached; part of `input_tokens`."""
    reasoning_tokens: Count = 0
    """Output tokens spent on thoughts; part of `output_tokens`."""
    cost_usd: Amount | None = 0.0
    """Cost in US dollars; None if the price of a reply is unknown."""
    cached_replies: Count = 0
    """Number of replies from a response cache."""
    saved_tokens: Count = 0
    """Input and output tokens of the cached replies."""
    saved_usd: Amount | None = 0.0
    """Original cost of the cached replies; None if a price is unknown."""
    calls: Count = 0
    """Number of tool calls, including rejected ones."""

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
    """Add up `replies`. Replies of a resumed attempt were paid for there and are ignored."""
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
    """Return the attempt's own spending; turns adopted from another were paid for there."""
    kept = trace.started.prefix_turns
    own = [event.reply for event in trace.replies if event.turn > kept]
    return spent_on(own, sum(call.turn > kept for call in trace.tool_calls))


def cost_of(replies: Iterable[Reply]) -> float | None:
    """Return the sum of the prices; None if any is unknown."""
    costs = [reply.usage.cost_usd for reply in replies]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None
