"""Places on the nodes of a cluster: units go there, events come back as they happen.

A node plays a unit with a sandbox and clients of its own, and decides nothing of the whole: before
it asks the model it asks the driver, whose ledger and whose connections are those of a run on one
machine. So limits hold for the whole, and are passed by no more than on one machine. A trace is
streamed, not sent when it ends: what a lost node leaves is what a killed run leaves, and the next
attempt takes it up.
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
    """May another request be sent? Answered by its number, or by cutting the job."""

    number: int


@dataclass(frozen=True, slots=True)
class AskSlot:
    """A request wants to be under way. Answered by its number once it may be."""

    number: int


@dataclass(frozen=True, slots=True)
class LeaveSlot:
    """The request is over, or is not waited for any more."""


@dataclass(frozen=True, slots=True)
class Overloaded:
    """The request was refused for overload, and waits."""

    wait_s: float


@dataclass(frozen=True, slots=True)
class Answered:
    """The request had a reply."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A unit as it is sent: its item is on the node already."""

    item: str
    mode: str
    epoch: int
    attempt: int
    prefix: Prefix


# -- on a node -------------------------------------------------------------------------------------

_channel: ContextVar[Channel] = ContextVar("channel")
"""Of the job that asks: clients are shared by all jobs of a node."""
_numbers = itertools.count()


async def _granted(ask: Callable[[int], object]) -> None:
    """Ask the driver, and wait until it grants that very thing."""
    channel, number = _channel.get(), next(_numbers)
    channel.post(ask(number))
    # One that was not waited for any more may have been granted in the meantime.
    while await channel.received.get() != number:
        pass


@dataclass
class _DriversConnections:
    """The driver's `Connections`, as a node's clients see them; it knows when a request began."""

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
    """What all nodes are given, through the object store."""

    given: Given
    seats: int
    shared: Path | None
    """A file that each node has to see: in the cache's folder."""


@dataclass
class _Stage:
    """A node's place."""

    given: Given
    means: Means
    items: Mapping[str, Item]
    """By id."""

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
    """Play a unit on this node."""
    _channel.set(channel)
    unit = WorkUnit(stage.items[sent.item], sent.mode, sent.epoch, sent.attempt)
    await play(unit, stage.given.settings, stage.means, channel.post, sent.prefix)


# -- the driver ------------------------------------------------------------------------------------


@dataclass
class OnNodes:
    """Places on nodes, as `Executor` wants them."""

    nodes: Nodes
    ledger: Ledger
    connections: Connections
    widens: bool
    """Whether as many requests as episodes may be under way."""

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
        """See `Places.nodes_used`: episodes by node, and the nodes that were lost."""
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
    """A job's place among the requests under way. It has one at a time."""

    def __init__(self, connections: Connections, job: Job) -> None:
        self._connections, self._job = connections, job
        self._task: asyncio.Task[None] | None = None
        self.began = 0.0

    def ask(self, number: int) -> None:
        """Have it granted as soon as it may be."""
        self._task = asyncio.create_task(self._hold(number))

    async def _hold(self, number: int) -> None:
        async with self._connections.slot() as self.began:
            self._job.tell(number)
            await asyncio.Event().wait()

    async def leave(self) -> None:
        """Give it back, granted or not."""
        if (task := self._task) is not None:
            self._task = None
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    @asynccontextmanager
    async def held(self) -> AsyncIterator[_Slot]:
        """Itself; given back at the end, also where the node is lost."""
        try:
            yield self
        finally:
            if self._task is not None:
                self._task.cancel()


@asynccontextmanager
async def open_places(
    given: Given, ledger: Ledger, connections: Connections, *, seats: int
) -> AsyncIterator[OnNodes]:
    """The nodes of the cluster that the settings name, each with the means of playing.

    Args:
        given: what is played, and how.
        ledger: of the whole run.
        connections: of the whole run; it is widened as nodes come, unless a number is asked for.
        seats: episodes at a time on each node.

    Raises:
        MissingExtra, ClusterFault: see `nodes_of`.
        BadChoice: nodes do not share what they have to.
        SandboxUnavailable, ModelFault, CacheUnusable: see `open_means`; of some node.
    """
    settings = given.settings
    with _shared(settings.cache) as file:
        # Nodes have working folders of their own.
        cache = None if settings.cache is None else settings.cache.resolve()
        there = replace(given, settings=settings.model_copy(update={"cache": cache}))
        what = _Given(there, seats, file)
        async with nodes_of(settings.ray_address, _stage, what, seats=seats) as nodes:
            yield OnNodes(nodes, ledger, connections, settings.max_connections is None)


@contextmanager
def _shared(cache: Path | None) -> Iterator[Path | None]:
    """A file in the cache's folder, for nodes to see that they have the same one."""
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
