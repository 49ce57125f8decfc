"""Play units on the nodes of a cluster: units are sent out, events come back as they happen.

A node plays units with its own sandbox and clients but makes no global decisions: before each model
request it asks the driver, which holds the ledger and connections as in a local run. So limits
apply to the whole run and are exceeded by no more than in a local run. Traces are streamed, so a
lost node leaves the same traces as a killed run, and the next attempt continues from there.
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from toolhop_agents.cluster.host import Channel
from toolhop_agents.cluster.jobs import Job, Node
from toolhop_agents.cluster.nodes import Nodes, nodes_of
from toolhop_agents.models.rate import Connections
from toolhop_agents.runs.executors import PlayUnit
from toolhop_agents.runs.ledger import Ledger, Metered, RunLimits
from toolhop_agents.runs.means import Given, Means, open_means, play
from toolhop_agents.runs.resume import Prefix
from toolhop_agents.runs.unit import WorkUnit
from toolhop_env.episode import Sink
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import Item, by_id

# -- messages ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskLedger:
    """Asks whether another request may be sent. Answered with its number, or by cancelling the
    job.
    """

    number: int


@dataclass(frozen=True, slots=True)
class AskSlot:
    """Asks for a connection slot. Answered with its number once one is free."""

    number: int


@dataclass(frozen=True, slots=True)
class LeaveSlot:
    """The request is over, or no longer awaited."""


@dataclass(frozen=True, slots=True)
class Overloaded:
    """The request was refused for overload and will wait."""

    wait_s: float


@dataclass(frozen=True, slots=True)
class Answered:
    """The request received a reply."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A unit as sent to a node, which already has its item."""

    item: str
    mode: str
    epoch: int
    attempt: int
    prefix: Prefix


# -- on a node -------------------------------------------------------------------------------------

_channel: ContextVar[Channel] = ContextVar("channel")
"""Channel of the current job, since clients are shared by all jobs of a node."""
_numbers = itertools.count()


async def _granted(ask: Callable[[int], object]) -> None:
    """Send a question to the driver and wait until that question is granted."""
    channel, number = _channel.get(), next(_numbers)
    channel.post(ask(number))
    # Skip grants for questions that are no longer awaited.
    while await channel.received.get() != number:
        pass


@dataclass
class _DriversConnections:
    """The driver's `Connections` as seen by a node's clients. The driver records when requests
    begin.
    """

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        try:
            await _granted(AskSlot)
            yield 0.0
        finally:
            _channel.get().post(LeaveSlot())

    def answered(self) -> None:
        _channel.get().post(Answered())

    def refused(self, began: float, wait_s: float) -> None:
        del began
        _channel.get().post(Overloaded(wait_s))


@dataclass(frozen=True)
class _Given:
    """The data that every node receives through the object store."""

    given: Given
    seats: int
    shared: Path | None
    """A file in the cache's folder that every node must be able to see."""


@dataclass
class _Stage:
    """The resources for playing on a node."""

    given: Given
    means: Means
    items: Mapping[str, Item]
    """Items by id."""

    @property
    def description(self) -> Mapping[str, JSON]:
        return self.means.sandbox.description


@asynccontextmanager
async def _stage(what: _Given) -> AsyncIterator[_Stage]:
    given = what.given
    if what.shared is not None and not what.shared.exists():
        raise BadChoice(
            f"--cache {what.shared.parent} is not the same folder on all nodes",
            fix="give one on storage that they share, or leave it out",
        )
    base_url = given.settings.base_url
    async with open_means(given, what.seats, _DriversConnections(), base_url) as means:
        if given.settings.run_limits != RunLimits():
            agents, grant = means.agents, partial(_granted, AskLedger)
            means = replace(means, agents=lambda unit: Metered(agents(unit), grant))
        yield _Stage(given, means, by_id(given.items))


async def _play_there(stage: _Stage, sent: _Sent, channel: Channel) -> None:
    _channel.set(channel)
    unit = WorkUnit(stage.items[sent.item], sent.mode, sent.epoch, sent.attempt)
    await play(unit, stage.given.settings, stage.means, channel.post, sent.prefix)


# -- the driver ------------------------------------------------------------------------------------


@dataclass
class OnNodes:
    """The `Places` of an `Executor`, on nodes."""

    nodes: Nodes
    ledger: Ledger
    connections: Connections
    widens: bool
    """Whether the request limit grows with the number of concurrent episodes."""

    def __post_init__(self) -> None:
        self.on_more: Callable[[int], None] = lambda _: None
        self._widen()
        self.nodes.on_more = self._more

    def _more(self, count: int) -> None:
        self._widen()
        self.on_more(count)

    def _widen(self) -> None:
        if self.widens:
            self.connections.widen(self.nodes.room)

    @property
    def description(self) -> Mapping[str, JSON]:
        """See `Places.description`."""
        return self.nodes.description

    @property
    def nodes_used(self) -> Mapping[str, JSON]:
        """See `Places.nodes_used`: episodes by node, and lost nodes."""
        return {"episodes": dict(self.nodes.used), "lost": [*self.nodes.lost]}

    @asynccontextmanager
    async def place(self) -> AsyncIterator[PlayUnit]:
        """See `Places.place`."""
        async with self.nodes.seat() as node:

            async def play_unit(unit: WorkUnit, sink: Sink, prefix: Prefix) -> None:
                await self._play(node, unit, sink, prefix)

            yield play_unit

    async def _play(self, node: Node, unit: WorkUnit, sink: Sink, prefix: Prefix) -> None:
        sent = _Sent(unit.item.id, unit.mode, unit.epoch, unit.attempt, prefix)
        async with node.job(_play_there, sent) as job, _Slot(self.connections, job).held() as slot:
            async for message in job:
                match message:
                    case AskLedger(number):
                        self.ledger.check()
                        job.tell(number)
                    case AskSlot(number):
                        slot.ask(number)
                    case Answered():
                        self.connections.answered()
                    case Overloaded(wait_s):
                        self.connections.refused(slot.began, wait_s)
                    case LeaveSlot():
                        await slot.leave()
                    case event:
                        sink(event)


class _Slot:
    """A job's connection slot. A job holds at most one."""

    def __init__(self, connections: Connections, job: Job) -> None:
        self._connections, self._job = connections, job
        self._task: asyncio.Task[None] | None = None
        self.began = 0.0

    def ask(self, number: int) -> None:
        """Grant the request as soon as a slot is free."""
        self._task = asyncio.create_task(self._hold(number))

    async def _hold(self, number: int) -> None:
        async with self._connections.slot() as self.began:
            self._job.tell(number)
            await asyncio.Event().wait()

    async def leave(self) -> None:
        """Release the slot, whether granted or not."""
        if (task := self._task) is not None:
            self._task = None
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    @asynccontextmanager
    async def held(self) -> AsyncIterator[_Slot]:
        """Release the slot on exit, even if the node is lost."""
        try:
            yield self
        finally:
            if self._task is not None:
                self._task.cancel()


@asynccontextmanager
async def open_places(
    given: Given, ledger: Ledger, connections: Connections, *, seats: int
) -> AsyncIterator[OnNodes]:
    """Open the nodes of the cluster in the settings, each ready to play.

    Args:
        given: what is played, and how.
        ledger: the run's ledger.
        connections: the run's connections; widened as nodes join unless the user set their number.
        seats: number of concurrent episodes per node.

    Raises:
        MissingExtra, ClusterFault: see `nodes_of`.
        BadChoice: the nodes do not share the cache's folder.
        SandboxUnavailable, ModelFault, CacheUnusable: see `open_means`; raised on a node.
    """
    settings = given.settings
    with _shared(settings.cache) as file:
        # Nodes have different working directories.
        cache = None if settings.cache is None else settings.cache.resolve()
        there = replace(given, settings=settings.model_copy(update={"cache": cache}))
        what = _Given(there, seats, file)
        async with nodes_of(settings.ray_address, _stage, what, seats=seats) as nodes:
            yield OnNodes(nodes, ledger, connections, settings.max_connections is None)


@contextmanager
def _shared(cache: Path | None) -> Iterator[Path | None]:
    """Create a file in the cache's folder, by which nodes verify that they share the folder."""
    if cache is None:
        yield None
        return
    cache.mkdir(parents=True, exist_ok=True)
    file = cache.resolve() / f"nodes-{uuid.uuid4().hex}"
    file.touch()
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)
