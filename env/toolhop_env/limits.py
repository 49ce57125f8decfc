"""How much an episode may use before it is ended."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from toolhop_env.trace import Called, Ending, Replied, Trace


@dataclass(frozen=True, slots=True)
class EpisodeLimits:
    """Limits of one episode; None is no limit."""

    turns: int | None = 9
    """Replies of the agent. ToolHop's evaluator allows 9."""
    calls: int | None = 64
    """Calls over all turns; parallel calls beyond it are not run."""
    tokens: int | None = None
    """Input and output tokens over all turns."""
    time_s: float | None = None
    """Seconds from the episode's start."""
    cost_usd: float | None = None
    """What the replies are worth; those of a cache count as if they were paid."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and not value > 0:
                raise ValueError(f"{limit.name} is {value}; it must be more than 0, or None")

    def exceeded(self, trace: Trace, elapsed_s: float) -> Ending | None:
        """The limit that leaves no room for another turn, if any."""
        turns = sum(isinstance(event, Replied) for event in trace.events)
        calls = sum(isinstance(event, Called) for event in trace.events)
        used = [event.reply.usage for event in trace.replies]
        tokens = sum(usage.input_tokens + usage.output_tokens for usage in used)
        cost_usd = math.fsum(usage.cost_usd or 0.0 for usage in used)
        for limit, value, ending in (
            (self.time_s, elapsed_s, Ending.OUT_OF_TIME),
            (self.turns, turns, Ending.OUT_OF_TURNS),
            (self.calls, calls, Ending.OUT_OF_CALLS),
            (self.tokens, tokens, Ending.OUT_OF_TOKENS),
            (self.cost_usd, cost_usd, Ending.OUT_OF_COST),
        ):
            if limit is not None and value >= limit:
                return ending
        return None
