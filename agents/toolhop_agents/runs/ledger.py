"""Spending of a whole run, and its limits."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from toolhop_agents.models.base import Model, ModelFault
from toolhop_env.diagnosis.of_tools import causes_of
from toolhop_env.messages import Message, Origin, Reply
from toolhop_env.spending import Spent, spent_on
from toolhop_env.trace import Called, Event, Replied
from toolhop_tools.model import ToolSchema


class RunLimitReached(Exception):
    """The run must stop: no more requests are sent. It can be resumed."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit
        """Name of the setting, such as ``run_token_limit``."""


EQUAL_REQUESTS = 30
"""Number of consecutive requests with the same fault that stops a run. Requests count only after
all retries of a question failed, so a short outage does not stop a run with many concurrent
requests."""


class SameFault(Exception):
    """The run must stop: every attempt ends with the same fault. It can be resumed."""


@dataclass
class Breaker:
    """Detects a streak of episodes that all fail with the same fault."""

    cause: str = ""
    requests: int = 0

    def ended(self) -> None:
        """Record an episode that ended normally, which breaks the streak."""
        self.requests = 0

    def errored(self, reason: str, fault: ModelFault | None) -> SameFault | None:
        """Record an errored episode, by its model's fault or another `reason`. Return the
        exception that stops the run if the streak is too long.
        """
        cause = fault.cause if fault else next(iter(causes_of([reason])))
        self.requests = (fault.requests if fault else 1) + self.requests * (cause == self.cause)
        self.cause = cause
        if self.requests < EQUAL_REQUESTS:
            return None
        what = "requests" if fault else "episodes"
        return SameFault(
            f"{self.requests} {what} in a row failed by the same cause, and {EQUAL_REQUESTS} stop "
            f"a run: {reason}"
        )


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of a whole run; None means unlimited. Cached replies do not count."""

    tokens: int | None = None
    """Input plus output tokens."""
    calls: int | None = None
    """Tool calls."""
    cost_usd: float | None = None
    time_s: float | None = None
    """Seconds of one session: a resumed run starts over."""
    known_costs: bool = False
    """Whether every reply must have a price, because a cost limit depends on it."""

    def __post_init__(self) -> None:
        for name in ("tokens", "calls", "cost_usd", "time_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"the run's limit of {name} is {value}; it must be more than 0")


@dataclass
class Ledger:
    """Adds up spending and enforces the limits.

    Limits are checked before each request; whatever is under way is finished and kept. So each
    episode under way may exceed a limit by one reply and its calls.
    """

    limits: RunLimits
    spent: Spent = field(default_factory=Spent)
    """Total of all attempts of the run, including earlier sessions."""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._unpriced = ""

    @property
    def elapsed_s(self) -> float:
        """Seconds since this session began."""
        return self.clock() - self._began

    def add(self, event: Event, prefix_turns: int) -> None:
        """Count an episode's event. Turns copied from an earlier attempt or fork cost nothing."""
        if isinstance(event, Replied) and event.turn > prefix_turns:
            self.spent += spent_on([event.reply])
            if event.reply.origin is Origin.ASKED and event.reply.usage.cost_usd is None:
                self._unpriced = event.reply.model or "the model"
        elif isinstance(event, Called) and event.turn > prefix_turns and event.action is None:
            self.spent += Spent(calls=1)

    def add_spent(self, took: Spent) -> None:
        """Count spending outside of episodes, such as a judge's replies."""
        self.spent += took

    def check(self) -> None:
        """Check that another request may be sent.

        Raises:
            RunLimitReached: a limit has been reached.
        """
        if self.limits.cost_usd is not None and self.spent.cost_usd is None:
            self._unpriced = self._unpriced or "the model"
        if self.limits.known_costs and self._unpriced:
            raise RunLimitReached(
                "run_cost_limit" if self.limits.cost_usd is not None else "cost_limit",
                f"the cost of a reply of {self._unpriced} is not known (it stated no usage), so "
                "the limit on costs cannot be kept; play without that limit",
            )
        for name, limit, used, unit in self._used():
            if limit is not None and used >= limit:
                flag = "--" + name.replace("_", "-")
                raise RunLimitReached(name, f"{flag} is reached: {unit.format(used, limit)}")

    async def grant(self) -> None:
        """Like `check`, but async, for `Metered`."""
        self.check()

    def _used(self) -> Sequence[tuple[str, float | None, float, str]]:
        limits, spent = self.limits, self.spent
        return (
            ("run_token_limit", limits.tokens, spent.tokens, "{:,} of {:,} tokens"),
            ("run_call_limit", limits.calls, spent.calls, "{:,} of {:,} calls"),
            ("run_cost_limit", limits.cost_usd, spent.cost_usd or 0.0, "${:.4f} of ${:.4f}"),
            ("run_time_limit", limits.time_s, self.elapsed_s, "{:.0f} of {:g} seconds"),
        )


@dataclass(frozen=True)
class Metered:
    """A model that is asked only within the run's limits."""

    model: Model
    grant: Callable[[], Awaitable[None]]
    """Returns once another request may be sent, or raises `RunLimitReached`."""

    @property
    def name(self) -> str:
        """Name of the wrapped model."""
        return self.model.name

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`.

        Raises:
            RunLimitReached: a limit has been reached.
        """
        await self.grant()
        return await self.model.reply(messages, tools)
