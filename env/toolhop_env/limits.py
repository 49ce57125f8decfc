"""Limits on what an episode may use before it is ended."""

from __future__ import annotations

from dataclasses import dataclass, fields

from toolhop_env.trace import Called, Ending, Event, Replied


@dataclass(slots=True)
class Used:
    """What an episode has used so far, updated event by event."""

    turns: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0

    def count(self, event: Event) -> None:
        """Add what an event of the episode used."""
        if isinstance(event, Called):
            self.calls += event.action is None
        elif isinstance(event, Replied):
            usage = event.reply.usage
            self.turns += 1
            self.tokens += usage.input_tokens + usage.output_tokens
            self.cost_usd += usage.cost_usd or 0.0


@dataclass(frozen=True, slots=True)
class EpisodeLimits:
    """Limits of one episode; None means no limit."""

    turns: int | None = 9
    """Maximum number of the agent's replies. ToolHop's evaluator allows 9."""
    calls: int | None = 64
    """Maximum number of tool calls over all turns; parallel calls beyond it are not run. Actions
    on the episode, such as a question to the user, count as turns only."""
    tokens: int | None = None
    """Maximum number of input and output tokens over all turns."""
    time_s: float | None = None
    """Maximum number of seconds from the episode's start."""
    cost_usd: float | None = None
    """Maximum cost of the replies; cached replies count at their original price."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and not value > 0:
                raise ValueError(f"{limit.name} is {value}; it must be more than 0, or None")

    def exceeded(self, used: Used, elapsed_s: float) -> Ending | None:
        """Return the ending for a limit that is used up; None if there is room for a turn."""
        for limit, value, ending in (
            (self.time_s, elapsed_s, Ending.OUT_OF_TIME),
            (self.turns, used.turns, Ending.OUT_OF_TURNS),
            (self.calls, used.calls, Ending.OUT_OF_CALLS),
            (self.tokens, used.tokens, Ending.OUT_OF_TOKENS),
            (self.cost_usd, used.cost_usd, Ending.OUT_OF_COST),
        ):
            if limit is not None and value >= limit:
                return ending
        return None
