"""The part that runs on a node: an open place, and the jobs done there.

A job is a function of the place, an argument and a `Channel`; while running it can post and receive
messages. All messages of a node's jobs are fetched by one request at a time (`Host.news`), so the
number of requests does not grow with the number of jobs.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from toolhop_agents.cluster.alike import software
from toolhop_sandbox.outcome import JSON

Opening: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Any]]
"""Opens a node's place from the data given to all nodes. Must be a module-level function, since
it is sent by name. A place has a `description`, which must be the same on all nodes."""


@dataclass(frozen=True, slots=True)
class Done:
    """A job's last message, with its result."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """A job's last message, with the exception it raised.

    The exception is sent in parts, because exceptions whose `__init__` takes other arguments than
    it passes on cannot be pickled.
    """

    kind: type[Exception]
    arguments: tuple[Any, ...]
    attributes: dict[str, Any]

    @classmethod
    def of(cls, error: Exception) -> Failed:
        """Take an exception apart; if it cannot be pickled, only its type's name and text are
        kept.
        """
        made = cls(type(error), error.args, dict(vars(error)))
        try:
            pickle.dumps(made)
        except Exception:  # noqa: BLE001 -- whatever keeps it from being sent
            return cls(RuntimeError, (f"{type(error).__name__}: {error}",), {})
        return made

    @property
    def error(self) -> Exception:
        """The exception, put together again."""
        made = self.kind.__new__(self.kind, *self.arguments)
        made.__dict__.update(self.attributes)
        return made


@dataclass
class Channel:
    """A job's connection to its driver."""

    post: Callable[[Any], None]
    """Sends a message to the driver."""
    received: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    """Messages from the driver, in order."""


Work: TypeAlias = Callable[[Any, Any, Channel], Awaitable[Any]]
"""Function of a job, taking place, argument and channel. At module level, like `Opening`."""


LEAVING_S = 5.0
"""Seconds that a host's process may keep running after its main thread has ended."""


def _leave_with_main() -> None:
    """End the process soon after its main thread.

    If a node's own process dies, Ray ends an actor by returning from its main thread. Python then
    waits for every thread, and those with blocking calls wait forever for a closed loop.
    """
    threading.main_thread().join()
    time.sleep(LEAVING_S)
    os._exit(1)


class Host:
    """The actor on a node. It lives as long as the driver, or until `close`."""

    def __init__(self, *, owns_process: bool = False) -> None:
        """Create a host without a place. If it owns its process, the process ends with the main
        thread.
        """
        if owns_process:
            threading.Thread(target=_leave_with_main, daemon=True).start()
        self._place: Any = None
        self._holding: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()
        self._jobs: dict[int, tuple[asyncio.Task[None], Channel]] = {}
        self._outbox: list[tuple[int, Any]] = []
        self._posted = asyncio.Event()

    async def software(self) -> dict[str, JSON]:
        """See `alike.software`."""
        return await asyncio.to_thread(software)

    async def open(self, opening: Opening, given: object) -> dict[str, JSON] | Failed:
        """Open the place and return its description."""
        ready: asyncio.Future[dict[str, JSON] | Failed] = asyncio.Future()
        self._holding = asyncio.create_task(self._hold(opening, given, ready))
        return await ready

    async def _hold(
        self, opening: Opening, given: object, ready: asyncio.Future[dict[str, JSON] | Failed]
    ) -> None:
        """Keep the place open. It must be entered and left in the same task."""
        try:
            async with opening(given) as self._place:
                ready.set_result(dict(self._place.description))
                await self._ending.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_result(Failed.of(error))

    async def begin(self, number: int, work: Work, argument: object) -> None:
        """Start a job under an unused number."""
        channel = Channel(lambda message: self._post(number, message))
        self._jobs[number] = asyncio.create_task(self._do(number, work, argument, channel)), channel

    async def _do(self, number: int, work: Work, argument: object, channel: Channel) -> None:
        last: Done | Failed
        try:
            last = Done(await work(self._place, argument, channel))
        except Exception as error:  # noqa: BLE001 -- whoever began the job gets it
            last = Failed.of(error)
        finally:
            self._jobs.pop(number, None)
        self._post(number, last)

    def _post(self, number: int, message: object) -> None:
        self._outbox.append((number, message))
        self._posted.set()

    async def tell(self, number: int, message: object) -> None:
        """Send a message to a job. If the job has ended, the message is dropped."""
        if number in self._jobs:
            self._jobs[number][1].received.put_nowait(message)

    async def cut(self, number: int) -> None:
        """Cancel a job. Only messages posted earlier are delivered."""
        if number in self._jobs:
            self._jobs[number][0].cancel()

    async def news(self) -> list[tuple[int, Any]]:
        """Wait until jobs have posted messages, and return all since the last call, in order."""
        await self._posted.wait()
        self._posted.clear()
        posted, self._outbox = self._outbox, []
        return posted

    async def close(self) -> None:
        """Cancel all jobs and close the place."""
        jobs = [task for task, _ in self._jobs.values()]
        for task in jobs:
            task.cancel()
        if jobs:
            await asyncio.wait(jobs)
        self._ending.set()
        if self._holding is not None:
            await asyncio.wait([self._holding])
