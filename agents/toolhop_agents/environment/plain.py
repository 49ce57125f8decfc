"""Synchronous environments, for training loops, scripts and threads.

    with PlainEnvironments(RunSettings(data="builtin"), most=8) as pool:
        environment = pool.environment()
        observation = environment.reset("geography-1")
        step = environment.step(CallOf("country_capital", {"country": "France"}))

One thread with an event loop serves all environments of a pool. Each environment may be used in its
own thread; their calls then run concurrently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from toolhop_agents.environment.core import Action, Environment, Environments, Observation, Step
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.messages import Message
from toolhop_env.score import Verdict
from toolhop_env.trace import Trace
from toolhop_tools.model import Item


class PlainEnvironment:
    """A synchronous `Environment`."""

    def __init__(self, environment: Environment, portal: BlockingPortal) -> None:
        """See `PlainEnvironments.environment`."""
        self._environment, self._portal = environment, portal

    def reset(self, item: str, **changes: Any) -> Observation:  # noqa: ANN401 -- as `Environment.reset`
        """See `Environment.reset`."""

        async def reset() -> Observation:
            return await self._environment.reset(item, **changes)

        return self._portal.call(reset)

    def step(self, action: Action) -> Step:
        """See `Environment.step`."""
        return self._portal.call(self._environment.step, action)

    def close(self) -> None:
        """See `Environment.close`."""
        self._portal.call(self._environment.close)

    def give_up(self, reason: str) -> None:
        """See `Environment.give_up`."""
        self._portal.call(self._environment.give_up, reason)

    @property
    def trace(self) -> Trace:
        """See `Environment.trace`."""
        return self._environment.trace

    @property
    def verdict(self) -> Verdict:
        """See `Environment.verdict`."""
        return self._environment.verdict

    @property
    def conversation(self) -> tuple[Message, ...]:
        """See `Environment.conversation`."""
        return self._environment.conversation


class PlainEnvironments:
    """Synchronous `Environments`. Enter it with ``with``."""

    def __init__(
        self, settings: RunSettings, *, reward: Mapping[str, float] | None = None, most: int = 2
    ) -> None:
        """See `Environments`."""
        self.environments = Environments(settings, reward=reward, most=most)
        """The wrapped pool, with its settings, items and reward."""
        self._entered = self._open()
        self._portal: BlockingPortal | None = None

    @contextmanager
    def _open(self) -> Iterator[BlockingPortal]:
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(self.environments),
        ):
            yield portal

    @property
    def items(self) -> Mapping[str, Item]:
        """Items by id, in data order. They include the gold answers."""
        return self.environments.items

    def __enter__(self) -> Self:
        """Start the sandbox. Raises SandboxUnavailable if the requested isolation is not
        available.
        """
        self._portal = self._entered.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:  # noqa: ANN401 -- as contextlib types it
        self._portal = None
        self._entered.__exit__(*exc)

    def environment(self) -> PlainEnvironment:
        """Create an environment. It needs no thread or event loop of its own.

        Raises:
            RuntimeError: the pool is not entered.
        """
        if self._portal is None:
            raise RuntimeError("the environments are not open: enter them with `with` first")
        return PlainEnvironment(self.environments.environment(), self._portal)
