"""A pool that opens and closes on demand, for harnesses without start and end hooks."""

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
"""Seconds without an episode after which the sandbox is closed. The next episode reopens it."""


@dataclass
class _Open:
    """State of an open pool."""

    loop: asyncio.AbstractEventLoop
    ready: asyncio.Future[None]
    seats: anyio.Semaphore
    """Limits the number of open episodes; others wait."""
    users: int = 0
    used: anyio.Event = field(default_factory=anyio.Event)
    """Set when an episode begins or ends."""


class SharedPool:
    """Environments whose sandbox is open while episodes are played.

    A separate task enters and leaves the pool, because anyio contexts must be left in the task that
    entered them. The task ends at the latest with the event loop. Needs asyncio.
    """

    def __init__(self, environments: Environments) -> None:
        """Store the environments, without opening them."""
        self.environments = environments
        self._open: _Open | None = None
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Environments]:
        """Wait for a place for one episode, and yield the open environments.

        Raises:
            SandboxUnavailable: the requested isolation is not available here.
            RuntimeError: no asyncio loop is running.
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
        """Wait until the pool's previous opening is closed, then keep it open while it is used."""
        try:
            if before is not None and not before.done():
                await asyncio.wait([before])
            async with self.environments:
                pool.ready.set_result(None)
                await _until_idle(pool)
                self._open = None  # from here on nobody joins: the next episode reopens the pool
        except Exception as error:
            if pool.ready.done():
                raise
            pool.ready.set_exception(error)  # raised by those who wait for the pool
        finally:
            if self._open is pool:
                self._open = None


_POOLS: dict[str, SharedPool] = {}


def pool_of(settings: RunSettings) -> SharedPool:
    """Return the pool for these settings, so that a process has one sandbox for all equal settings.

    Raises:
        ToolsError: the data cannot be used as requested.
        BadChoice: a setting is not available for environments.
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
    """Return once no episode has been in progress for `LINGER_S`."""
    while True:
        with anyio.move_on_after(LINGER_S) as waiting:
            await pool.used.wait()
        if waiting.cancelled_caught and not pool.users:
            return
        pool.used = anyio.Event()
