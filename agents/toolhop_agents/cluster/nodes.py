"""The driver's side of a cluster: its nodes, room for jobs on them, and the jobs.

    async with nodes_of(address, opening, given, seats=10) as nodes:
        async with nodes.seat() as node, node.job(work, argument) as job:
            async for message in job: ...
            job.value

A node that is lost raises `NodeLost` in each of its jobs and is not waited for; one that joins is
opened and used. What may be done twice is done by `Nodes.do`, which does it again.

Ray keeps no state of ours: an actor on each node ends with the driver, however that ends.
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
"""Seconds between two looks at which nodes there are."""
ALONE_S = 60.0
"""Seconds without any node after which waiting for one is given up."""
END_S = 15.0
"""Seconds that nodes have to put their sandboxes away at the end."""
MOST_LOST = 3
"""Nodes that may be lost under one and the same job before it is to blame."""
AT_ONCE = 100_000
"""Requests to an actor that may be under way: more than there are ever jobs."""


class Nodes:
    """The nodes of a cluster, each with a place that jobs are done in."""

    def __init__(self, opening: Opening, given: object, seats: int) -> None:
        """Know no node yet; see `nodes_of`."""
        import ray

        self._ray = ray
        self._actor = ray.remote(num_cpus=0, max_concurrency=AT_ONCE)(Host)
        self._opening, self._given = ray.put(opening), ray.put(given)
        self._seats = seats
        self._nodes: dict[str, Node] = {}
        self._seen: set[str] = set()
        """Nodes that are open, being opened, or refused."""
        self._ours = software()
        self._room = asyncio.Condition()
        self._fault: Exception | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.description: Mapping[str, JSON] = {}
        """Of the places; the same on all nodes."""
        self.on_more: Callable[[int], None] = lambda _: None
        """Told of room that a node brings which joined after the beginning."""
        self.used: Counter[str] = Counter()
        """Jobs by the name of the node."""
        self.lost: list[str] = []

    @property
    def room(self) -> int:
        """Jobs that the nodes have room for, taken or not."""
        return self._seats * len(self._nodes)

    # -- jobs --------------------------------------------------------------------------------------

    @asynccontextmanager
    async def seat(self) -> AsyncIterator[Node]:
        """A node with room for a job, that with the most; waits until there is one.

        Raises:
            ClusterFault: no node is left, and none came.
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
        """What comes of a job that may be done twice: it is done again where its node is lost.

        Raises:
            ClusterFault: its nodes were lost time after time, or none is left.
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
        """Open all nodes that there are.

        Raises:
            ClusterFault: there is none, or one is not like this machine or the others.
            Exception: what opening a place raises.
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
        """Names of the nodes that work is to be put on, by id."""
        nodes = await asyncio.to_thread(self._ray.nodes)
        return {
            node["NodeID"]: f"{node['NodeName']} ({node['NodeID'][:8]})"
            for node in nodes
            if node["Alive"] and node["Resources"].get("CPU", 0) > 0
        }

    async def _opened(self, identity: str, name: str) -> Exception | None:
        """Open a node; what keeps it from being used, or None. One that goes away meanwhile is no
        fault, and is not among the nodes either.
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
        """What makes a node unfit, its place opened where nothing does."""
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
        """Hand out what a node's jobs post, until it is lost."""
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
        # The node may be there still, and its actor alone be gone: then it joins again.
        self._seen.discard(node.id)
        for inbox in node.inboxes.values():
            inbox.put_nowait(NodeLost(f"node {node.name} is lost: {why}"))
        if node.listening is not None and node.listening is not asyncio.current_task():
            node.listening.cancel()
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.kill(node.actor)

    async def _watch(self) -> None:
        """See nodes come and go."""
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
        """Have all nodes put their places away."""
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
    with contextlib.suppress(Exception):  # one that is gone has nothing to put away
        await node.actor.close.remote()


def lost_again(what: str) -> ClusterFault:
    """A job under which nodes are lost, one after another."""
    return ClusterFault(
        f"{MOST_LOST} nodes were lost while they were at {what}: it may be what ends them"
        "\n  fix: see `ray logs` of these nodes (memory?), and resume"
    )


def _with_name(error: Exception, name: str) -> Exception:
    """A fault of opening a place, with the node's name in front where it is a single text."""
    if len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (f"node {name}: {error.args[0]}",)
    return error


@asynccontextmanager
async def nodes_of(
    address: str | None, opening: Opening, given: object, *, seats: int
) -> AsyncIterator[Nodes]:
    """The nodes of a cluster, open until the context is left.

    Args:
        address: ``HOST:PORT`` of the cluster's head; None for ``RAY_ADDRESS``, else the cluster
            that this machine belongs to, else one of this machine alone that is started now.
        opening: makes a node's place out of `given`.
        given: goes once into the object store, and from there once to each node.
        seats: jobs at a time on each node.

    Raises:
        MissingExtra: Ray is not installed.
        ClusterFault: it cannot be reached, or its nodes cannot be used together.
        Exception: what opening a place raises.
    """
    require("ray", extra="ray", what="--executor ray")
    # Whole or not at all: one that is cut half-way leaves processes that nobody ends.
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
