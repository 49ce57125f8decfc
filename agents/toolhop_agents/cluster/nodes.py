"""The driver's side of a cluster: its nodes, their job slots, and the jobs.

    async with nodes_of(address, opening, given, seats=10) as nodes:
        async with nodes.seat() as node, node.job(work, argument) as job:
            async for message in job: ...
            job.value

A lost node raises `NodeLost` in each of its jobs and is dropped; a node that joins is opened and
used. `Nodes.do` repeats a job whose node is lost, so the job must be safe to repeat.

Ray stores none of our state: the actor on each node ends with the driver, however that ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from toolhop_agents.cluster.alike import differences, software
from toolhop_agents.cluster.connect import ClusterFault, connect, keep_signals
from toolhop_agents.cluster.host import Failed, Host, Opening, Work
from toolhop_agents.cluster.jobs import Node, NodeLost
from toolhop_env.extras import require
from toolhop_sandbox.outcome import JSON

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Seconds between checks for new and lost nodes."""
ALONE_S = 60.0
"""Seconds to wait for a node if there is none left."""
END_S = 15.0
"""Seconds that nodes have to close their places at the end."""
MOST_LOST = 3
"""Number of nodes lost under the same job before the job is blamed."""
AT_ONCE = 100_000
"""Maximum number of concurrent requests to an actor; there are never that many jobs."""


class Nodes:
    """The nodes of a cluster, each with an open place for jobs."""

    def __init__(self, opening: Opening, given: object, seats: int) -> None:
        """Create the object without any nodes; see `nodes_of`."""
        import ray

        self._ray = ray
        self._actor = ray.remote(num_cpus=0, max_concurrency=AT_ONCE)(Host)
        self._opening, self._given = ray.put(opening), ray.put(given)
        self._seats = seats
        self._nodes: dict[str, Node] = {}
        self._seen: set[str] = set()
        """Ids of nodes that are open, being opened, or refused."""
        self._ours = software()
        self._room = asyncio.Condition()
        self._fault: Exception | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.description: Mapping[str, JSON] = {}
        """Description of the places, which is the same on all nodes."""
        self.on_more: Callable[[int], None] = lambda _: None
        """Called with the number of slots of a node that joined later."""
        self.used: Counter[str] = Counter()
        """Number of jobs by node name."""
        self.lost: list[str] = []

    @property
    def room(self) -> int:
        """Number of job slots on all nodes, taken or free."""
        return self._seats * len(self._nodes)

    # -- jobs --------------------------------------------------------------------------------------

    @asynccontextmanager
    async def seat(self) -> AsyncIterator[Node]:
        """Wait for a free slot, and yield the node with the most free slots.

        Raises:
            ClusterFault: no node is left, and none joined in time.
        """
        async with self._room:
            while not any(node.free for node in self._nodes.values()):
                if self._fault is not None:
                    raise self._fault
                await self._room.wait()
            node = max(self._nodes.values(), key=lambda one: one.free)
            node.free -= 1
            self.used[node.name] += 1
        try:
            yield node
        finally:
            node.free += 1
            self._spawn(self._wake(1))

    async def do(self, work: Work, argument: object) -> Any:  # noqa: ANN401 -- as `work` returns
        """Run a job and return its result. If its node is lost, the job is repeated on another.

        Raises:
            ClusterFault: too many of its nodes were lost, or none is left.
        """
        for _ in range(MOST_LOST):
            with contextlib.suppress(NodeLost):
                async with self.seat() as node, node.job(work, argument) as job:
                    async for _ in job:
                        pass
                    return job.value
        raise lost_again(str(argument)[:200])

    async def _wake(self, count: int) -> None:
        async with self._room:
            self._room.notify(count)

    def _spawn(self, work: Any) -> None:  # noqa: ANN401 -- a coroutine
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- nodes -------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Open all current nodes.

        Raises:
            ClusterFault: there are none, or one differs from this machine or the others.
            Exception: any exception from opening a place.
        """
        found = await self._alive()
        self._seen |= set(found)
        faults = await asyncio.gather(*(self._opened(*one) for one in found.items()))
        if (fault := next((one for one in faults if one is not None), None)) is not None:
            raise fault
        if not self._nodes:
            raise ClusterFault(
                "the cluster has no node with processors to play on"
                "\n  fix: start one with `ray start --address HOST:PORT`; nodes with --num-cpus=0 "
                "are left alone"
            )
        self._spawn(self._watch())

    async def _alive(self) -> dict[str, str]:
        """Return the names of live nodes with processors, by id."""
        nodes = await asyncio.to_thread(self._ray.nodes)
        return {
            node["NodeID"]: f"{node['NodeName']} ({node['NodeID'][:8]})"
            for node in nodes
            if node["Alive"] and node["Resources"].get("CPU", 0) > 0
        }

    async def _opened(self, identity: str, name: str) -> Exception | None:
        """Open a node. Return the reason why it cannot be used, or None if it was opened or has
        disappeared meanwhile.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(identity, soft=False)
        actor = self._actor.options(scheduling_strategy=here).remote(owns_process=True)
        try:
            fault = await self._unlike(actor, name)
        except self._ray.exceptions.RayError as error:
            if identity not in await self._alive():
                self._seen.discard(identity)
                return None
            last = str(error).strip().splitlines()[-1:]
            fault = ClusterFault(
                f"node {name} cannot start toolhop: {' '.join(last)}"
                "\n  fix: install the same toolhop-env there, with the extra ray, in Ray's Python"
            )
        if fault is not None:
            self._ray.kill(actor)
            return fault
        node = Node(identity, name, actor, self._seats)
        self._nodes[identity] = node
        node.listening = asyncio.create_task(self._listen(node))
        await self._wake(self._seats)
        return None

    async def _unlike(self, actor: Any, name: str) -> Exception | None:  # noqa: ANN401 -- an actor
        """Open the place if the node matches this machine and the others. Return the reason
        otherwise.
        """
        if differ := differences(self._ours, await actor.software.remote()):
            return ClusterFault(
                f"node {name} has other software than this machine, so that its episodes could "
                f"come out otherwise: {'; '.join(differ)}"
                "\n  fix: install the same there, or leave the node out of the cluster"
            )
        found = await actor.open.remote(self._opening, self._given)
        if isinstance(found, Failed):
            return _with_name(found.error, name)
        first = self.description = self.description or found
        if differ := differences(first, found):
            return ClusterFault(
                f"the sandbox of node {name} is not that of the other nodes: {'; '.join(differ)}"
                "\n  fix: make them alike, or ask for what all have by --sandbox"
            )
        return None

    async def _listen(self, node: Node) -> None:
        """Deliver the messages of a node's jobs until the node is lost."""
        try:
            while True:
                for number, message in await node.actor.news.remote():
                    if number in node.inboxes:
                        node.inboxes[number].put_nowait(message)
        except self._ray.exceptions.RayError as error:
            log.debug("node %s", node.name, exc_info=True)
            self._lose(node, str(error).strip().partition("\n")[0])

    def _lose(self, node: Node, why: str) -> None:
        if self._nodes.pop(node.id, None) is None:
            return
        self.lost.append(node.name)
        log.warning(
            "node %s is lost with %d jobs under way, which are done again: %s",
            node.name, len(node.inboxes), why,
        )  # fmt: skip
        # If only the actor is gone and the node is still there, the node joins again.
        self._seen.discard(node.id)
        for inbox in node.inboxes.values():
            inbox.put_nowait(NodeLost(f"node {node.name} is lost: {why}"))
        if node.listening is not None and node.listening is not asyncio.current_task():
            node.listening.cancel()
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.kill(node.actor)

    async def _watch(self) -> None:
        """Watch for nodes that join or disappear."""
        alone_s = 0.0
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                found = await self._alive()
            except self._ray.exceptions.RayError as error:
                found = {}
                log.warning("the cluster does not say which nodes it has: %s", error)
            for node in [one for one in self._nodes.values() if one.id not in found]:
                self._lose(node, "the cluster says that it is dead")
            for identity, name in found.items():
                if identity not in self._seen:
                    self._seen.add(identity)
                    self._spawn(self._join(identity, name))
            alone_s = 0.0 if self._nodes else alone_s + LOOK_S
            if alone_s >= ALONE_S:
                self._fault = ClusterFault(
                    f"no node is left, and none came within {ALONE_S:.0f} s"
                    "\n  fix: start nodes, and resume"
                )
                await self._wake(AT_ONCE)
                return

    async def _join(self, identity: str, name: str) -> None:
        fault = await self._opened(identity, name)
        if fault is not None:
            log.warning("node %s joined and is not used: %s", name, fault)
        elif identity in self._nodes:
            log.info("node %s joined", name)
            self.on_more(self._seats)

    async def close(self) -> None:
        """Close the places on all nodes."""
        for task in [*self._tasks]:
            task.cancel()
        nodes, self._nodes = [*self._nodes.values()], {}
        closing = [asyncio.ensure_future(_closed(node)) for node in nodes]
        if closing:
            await asyncio.wait(closing, timeout=END_S)
        for node in nodes:
            if node.listening is not None:
                node.listening.cancel()
            self._ray.kill(node.actor)


async def _closed(node: Node) -> None:
    with contextlib.suppress(Exception):  # a lost node has nothing to close
        await node.actor.close.remote()


def lost_again(what: str) -> ClusterFault:
    """Return the error for a job whose nodes were lost again and again."""
    return ClusterFault(
        f"{MOST_LOST} nodes were lost while they were at {what}: it may be what ends them"
        "\n  fix: see `ray logs` of these nodes (memory?), and resume"
    )


def _with_name(error: Exception, name: str) -> Exception:
    """Prefix an exception's message with the node's name, if the message is its only argument."""
    if len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (f"node {name}: {error.args[0]}",)
    return error


@asynccontextmanager
async def nodes_of(
    address: str | None, opening: Opening, given: object, *, seats: int
) -> AsyncIterator[Nodes]:
    """Open the nodes of a cluster until the context is left.

    Args:
        address: ``HOST:PORT`` of the cluster's head; None for ``RAY_ADDRESS``, else the cluster
            that this machine belongs to, else a new one on this machine.
        opening: opens a node's place from `given`.
        given: data for all nodes, sent to each once through the object store.
        seats: number of concurrent jobs per node.

    Raises:
        MissingExtra: Ray is not installed.
        ClusterFault: the cluster cannot be reached, or its nodes cannot be used together.
        Exception: any exception from opening a place.
    """
    require("ray", extra="ray", what="--executor ray")
    # Shielded, since an interrupted start leaves processes that nothing ends.
    with anyio.CancelScope(shield=True):
        await asyncio.to_thread(connect, address)
    keep_signals()
    import ray

    try:
        nodes = Nodes(opening, given, seats)
        try:
            await nodes.begin()
            yield nodes
        finally:
            with anyio.CancelScope(shield=True):
                await nodes.close()
    finally:
        with anyio.CancelScope(shield=True):
            await asyncio.to_thread(ray.shutdown)
