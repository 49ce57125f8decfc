"""What runs on a node: a place that is held open, and the jobs that are done there.

A job is a function of the place, of an argument and of a `Channel`: it may post messages while it
is under way, and be sent some. All messages of a node's jobs leave it by one request at a time
(`Host.news`), so that what crosses the network does not grow with the number of jobs.
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
"""Makes a node's place of what all nodes are given. A function of a module: it is sent by name. A
place has a `description`; nodes whose places are described otherwise are not used together."""


@dataclass(frozen=True, slots=True)
class Done:
    """A job's last message: what came of it."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """A job's last message: what it raised.

    An exception is sent in parts: those whose `__init__` takes other arguments than it hands on
    cannot be pickled.
    """

    kind: type[Exception]
    arguments: tuple[Any, ...]
    attributes: dict[str, Any]

    @classmethod
    def of(cls, error: Exception) -> Failed:
        """What is left of an exception on the way: its kind and text, or all of it."""
        made = cls(type(error), error.args, dict(vars(error)))
        try:
            pickle.dumps(made)
        except Exception:  # noqa: BLE001 -- whatever keeps it from being sent
            return cls(RuntimeError, (f"{type(error).__name__}: {error}",), {})
        return made

    @property
    def error(self) -> Exception:
        """The exception."""
        made = self.kind.__new__(self.kind, *self.arguments)
        made.__dict__.update(self.attributes)
        return made


@dataclass
class Channel:
    """A job's end of what it sends and receives."""

    post: Callable[[Any], None]
    """Send a message to whoever began the job."""
    received: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    """Messages from there, in order."""


Work: TypeAlias = Callable[[Any, Any, Channel], Awaitable[Any]]
"""A job's function, of place, argument and channel. A function of a module, as `Opening`."""


LEAVING_S = 5.0
"""Seconds that a host's process has between the end of its main thread and its own."""


def _leave_with_main() -> None:
    """End the process soon after its main thread.

    Where a node's own process dies, Ray ends an actor by returning from its main thread. Python
    then waits for every thread, and those that ran blocking calls wait for a loop that is gone.
    """
    threading.main_thread().join()
    time.sleep(LEAVING_S)
    os._exit(1)


class Host:
    """A node's actor. It lives as long as the driver does, or until `close`."""

    def __init__(self, *, owns_process: bool = False) -> None:
        """Hold nothing yet. One that owns its process ends it with the main thread."""
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
        """Open the place; its description."""
        ready: asyncio.Future[dict[str, JSON] | Failed] = asyncio.Future()
        self._holding = asyncio.create_task(self._hold(opening, given, ready))
        return await ready

    async def _hold(
        self, opening: Opening, given: object, ready: asyncio.Future[dict[str, JSON] | Failed]
    ) -> None:
        """Keep the place open: it is entered and left in one task."""
        try:
            async with opening(given) as self._place:
                ready.set_result(dict(self._place.description))
                await self._ending.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_result(Failed.of(error))

    async def begin(self, number: int, work: Work, argument: object) -> None:
        """Begin a job under a number of its own."""
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
        """Send a job a message; one that has ended hears nothing."""
        if number in self._jobs:
            self._jobs[number][1].received.put_nowait(message)

    async def cut(self, number: int) -> None:
        """Cancel a job. Nothing more comes of it but what was posted."""
        if number in self._jobs:
            self._jobs[number][0].cancel()

    async def news(self) -> list[tuple[int, Any]]:
        """What jobs posted since the last time, in order; waits until there is something."""
        await self._posted.wait()
        self._posted.clear()
        posted, self._outbox = self._outbox, []
        return posted

    async def close(self) -> None:
        """Cut all jobs and close the place."""
        jobs = [task for task, _ in self._jobs.values()]
        for task in jobs:
            task.cancel()
        if jobs:
            await asyncio.wait(jobs)
        self._ending.set()
        if self._holding is not None:
            await asyncio.wait([self._holding])
