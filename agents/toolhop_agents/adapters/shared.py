"""A pool that comes and goes with its use, for harnesses that say neither begin nor end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from toolhop_agents.adapters.options import named
from toolhop_agents.environment.core import Environments
from toolhop_agents.runs.execute import MODEL_EPISODES
from toolhop_agents.runs.settings import RunSettings
from toolhop_tools.errors import DataError

LINGER_S = 5.0
"""Seconds without an episode after which the sandbox is closed; the next one opens it anew."""


@dataclass
class _Open:
    """A pool while it is open."""

    loop: asyncio.AbstractEventLoop
    ready: asyncio.Future[None]
    seats: anyio.Semaphore
    """One for each episode that may be in play; the others wait for theirs."""
    users: int = 0
    used: anyio.Event = field(default_factory=anyio.Event)
    """Set when an episode begins or ends."""


class SharedPool:
    """Environments whose sandbox is open while episodes are played.

    A task of its own enters and leaves the pool, whoever plays: contexts of anyio must be left in
    the task that entered them. It ends with the event loop at the latest. Needs asyncio.
    """

    def __init__(self, environments: Environments) -> None:
        """Start nothing."""
        self.environments = environments
        self._open: _Open | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Environments]:
        """A place in the pool for one episode, as soon as there is one.

        Raises:
            SandboxUnavailable: nothing can isolate calls here as asked.
            RuntimeError: there is no asyncio loop.
        """
        pool = self._opened()
        pool.users += 1
        pool.used.set()
        try:
            async with pool.seats:
                await asyncio.shield(pool.ready)
                yield self.environments
        finally:
            pool.users -= 1
            pool.used.set()

    def _opened(self) -> _Open:
        loop = asyncio.get_running_loop()
        if self._open is None or self._open.loop is not loop:
            pool = _Open(loop, loop.create_future(), anyio.Semaphore(self.environments.most))
            self._task = loop.create_task(self._hold(pool, self._task), name="toolhop-pool")
            self._open = pool
        return self._open

    async def _hold(self, pool: _Open, before: asyncio.Task[None] | None) -> None:
        """Keep the pool open while it is used, once it has been closed from before."""
        try:
            if before is not None and not before.done():
                await asyncio.wait([before])
            async with self.environments:
                pool.ready.set_result(None)
                await _until_idle(pool)
                self._open = None  # from here on nobody joins: the next one opens it anew
        except Exception as error:
            if pool.ready.done():
                raise
            pool.ready.set_exception(error)  # whoever waits for the pool raises it
        finally:
            if self._open is pool:
                self._open = None


_POOLS: dict[str, SharedPool] = {}


def pool_of(settings: RunSettings) -> SharedPool:
    """One for equal settings, so that a process has one sandbox for all that plays by them.

    Raises:
        ToolsError: the data cannot be used as asked.
        BadChoice: a setting that environments do not take.
    """
    key = settings.model_dump_json()
    if key not in _POOLS:
        most = settings.max_samples or MODEL_EPISODES
        try:
            _POOLS[key] = SharedPool(Environments(settings, most=most))
        except DataError as error:
            error.message, error.fix = named(error.message), named(error.fix)
            raise
    return _POOLS[key]


async def _until_idle(pool: _Open) -> None:
    """Return when no episode has been in play for `LINGER_S`."""
    while True:
        with anyio.move_on_after(LINGER_S) as waiting:
            await pool.used.wait()
        if waiting.cancelled_caught and not pool.users:
            return
        pool.used = anyio.Event()
