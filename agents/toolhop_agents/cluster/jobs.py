"""Jobs under way on a node, as their driver sees them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from toolhop_agents.cluster.host import Done, Failed, Work


class NodeLost(Exception):
    """The node is gone on which a job was under way. What it posted before has arrived."""


@dataclass(eq=False)
class Node:
    """A node that is open."""

    id: str
    name: str
    actor: Any
    free: int
    """Jobs that it has room for."""
    inboxes: dict[int, asyncio.Queue[Any]] = field(default_factory=dict)
    listening: asyncio.Task[None] | None = None
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @asynccontextmanager
    async def job(self, work: Work, argument: object) -> AsyncIterator[Job]:
        """Begin a job; it is cut when the context is left before it has ended.

        Raises:
            NodeLost: the node was gone already.
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
    """A job under way on a node; iterate over what it posts, until it has ended."""

    def __init__(self, node: Node, number: int) -> None:
        self._node, self._number = node, number
        self._inbox: asyncio.Queue[Any] = asyncio.Queue()
        node.inboxes[number] = self._inbox
        self._ended = False
        self.value: Any = None
        """What came of it, once it has ended."""

    def tell(self, message: object) -> None:
        """Send it a message."""
        self._node.actor.tell.remote(self._number, message)

    def __aiter__(self) -> Job:
        return self

    async def __anext__(self) -> Any:  # noqa: ANN401 -- as the job posts
        """The next message; raises what the job raised, and `NodeLost`."""
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
        """Hear no more of it, and have it cut if it has not ended."""
        self._node.inboxes.pop(self._number, None)
        if not self._ended:
            self._node.actor.cut.remote(self._number)
