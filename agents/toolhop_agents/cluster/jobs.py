"""Jobs running on a node, from the driver's point of view."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from toolhop_agents.cluster.host import Done, Failed, Work


class NodeLost(Exception):
    """The job's node was lost. Messages posted earlier have been received."""


@dataclass(eq=False)
class Node:
    """An open node."""

    id: str
    name: str
    actor: Any
    free: int
    """Number of free job slots."""
    inboxes: dict[int, asyncio.Queue[Any]] = field(default_factory=dict)
    listening: asyncio.Task[None] | None = None
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @asynccontextmanager
    async def job(self, work: Work, argument: object) -> AsyncIterator[Job]:
        """Start a job, which is cancelled if the context is left before it has ended.

        Raises:
            NodeLost: the node was already lost.
        """
        from ray.exceptions import RayActorError

        number = next(self._numbers)
        job = Job(self, number)
        try:
            try:
                await self.actor.begin.remote(number, work, argument)
            except RayActorError as error:
                raise NodeLost(f"node {self.name} is lost: {error}") from error
            yield job
        finally:
            job.drop()


class Job:
    """A job running on a node. Iterate over it to receive its messages until it ends."""

    def __init__(self, node: Node, number: int) -> None:
        self._node, self._number = node, number
        self._inbox: asyncio.Queue[Any] = asyncio.Queue()
        node.inboxes[number] = self._inbox
        self._ended = False
        self.value: Any = None
        """Result of the job, once it has ended."""

    def tell(self, message: object) -> None:
        """Send a message to the job."""
        self._node.actor.tell.remote(self._number, message)

    def __aiter__(self) -> Job:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 -- as the job posts
        """Return the next message. Raises the job's exception, or `NodeLost`."""
        message = await self._inbox.get()
        match message:
            case Done(value):
                self._ended, self.value = True, value
                raise StopAsyncIteration
            case Failed():
                self._ended = True
                raise message.error
            case NodeLost():
                self._ended = True
                raise message
            case _:
                return message

    def drop(self) -> None:
        """Ignore further messages, and cancel the job unless it has ended."""
        self._node.inboxes.pop(self._number, None)
        if not self._ended:
            self._node.actor.cut.remote(self._number)
