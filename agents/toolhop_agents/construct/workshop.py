"""Where what a model made is verified: sandboxes by kind and a lane, here or on nodes of a cluster.

The model is asked and the ledger is kept by the driver. Nodes are sent whole searches and whole
checks of a tool; single calls, and episodes of the oracle, cross one by one (`NodeSandbox`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

from toolhop_agents.cluster.host import Channel
from toolhop_agents.cluster.jobs import Job, NodeLost
from toolhop_agents.cluster.nodes import MOST_LOST, Nodes, lost_again, nodes_of
from toolhop_env.rejection import Rejections
from toolhop_sandbox.base import Limits, Program, Sandbox, Session
from toolhop_sandbox.choose import Kind, answers, open_sandbox
from toolhop_sandbox.docker.engine import DockerEngine
from toolhop_sandbox.outcome import JSON, Outcome
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.model import Basis, HopProof
from toolhop_tools.construct.stages import Findings, Problem
from toolhop_tools.construct.verify import Verifier
from toolhop_tools.model import Tool
from toolhop_tools.properties.check import CheckJob
from toolhop_tools.properties.lanes import Lane
from toolhop_tools.properties.model import PROPERTIES, Gold


@dataclass(frozen=True, slots=True)
class Tools:
    """How what was made is verified; a value, so that it can be sent to a node."""

    sandbox: Kind
    basis: Basis
    examples: int
    seed: int
    at_a_time: int


@dataclass(frozen=True, slots=True)
class Workshop:
    """What tools are verified in, and where the oracle plays, by kind of sandbox."""

    verifier: Verifier
    rooms: Mapping[str, Sandbox]

    @property
    def description(self) -> Mapping[str, JSON]:
        """What isolates."""
        return {name: dict(room.description) for name, room in self.rooms.items()}


@asynccontextmanager
async def here(tools: Tools) -> AsyncIterator[Workshop]:
    """A workshop on this machine.

    Raises:
        SandboxUnavailable: no sandbox can be had.
    """
    limits = Limits(wall_s=tools.basis.wall_s, memory_mib=tools.basis.memory_mib)
    async with AsyncExitStack() as stack:
        sandbox = await open_sandbox(
            tools.sandbox, limits=limits, max_workers=max(2, tools.at_a_time)
        )
        await stack.enter_async_context(sandbox)
        kind = cast("Kind", sandbox.description["kind"])
        job = CheckJob(
            Rejections, limits, kind, count=tools.examples, seed=tools.seed, formats=True
        )
        lane = stack.enter_context(Lane(job))
        rooms: dict[str, Sandbox] = {kind: sandbox}
        other: Kind = "process" if kind == "docker" else "docker"
        # The oracle has to be right wherever a run may be played.
        if tools.sandbox == "auto" and (
            other == "process" or await answers(DockerEngine(limits=limits))
        ):
            second = await open_sandbox(other, limits=limits, max_workers=tools.at_a_time)
            rooms[other] = await stack.enter_async_context(second)
        yield Workshop(Verifier(sandbox, lane, tools.basis), rooms)


# -- on a node -------------------------------------------------------------------------------------


async def _verify(
    place: Workshop, what: tuple[str, tuple[Any, ...], dict[str, Any]], channel: Channel
) -> Any:  # noqa: ANN401 -- calls a method of `Verifier` by name, and these return different types
    del channel
    method, given, named = what
    return await getattr(place.verifier, method)(*given, **named)


async def _session(place: Workshop, kind: str, channel: Channel) -> None:
    """A session of a sandbox: calls come in, outcomes go out, until it is cut."""
    async with place.rooms[kind].session() as session:
        while True:
            channel.post(await session.call(*await channel.received.get()))


# -- the driver ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodeSandbox:
    """A sandbox whose sessions are on nodes."""

    nodes: Nodes
    kind: str

    @property
    def description(self) -> Mapping[str, JSON]:
        """See `Sandbox.description`."""
        return cast("Mapping[str, JSON]", self.nodes.description[self.kind])

    @asynccontextmanager
    async def session(self, programs: Sequence[Program] = ()) -> AsyncIterator[Session]:
        """See `Sandbox.session`; a node's worker, and another node's after that is lost."""
        del programs
        session = _NodeSession(self.nodes, self.kind)
        try:
            yield session
        finally:
            await session.end()

    async def __aenter__(self) -> NodeSandbox:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None


class _NodeSession:
    """A session on some node, begun with its first call. A call leaves nothing behind, so that one
    whose node was lost is made again on another.
    """

    def __init__(self, nodes: Nodes, kind: str) -> None:
        self._nodes, self._kind = nodes, kind
        self._stack = AsyncExitStack()
        self._job: Job | None = None
        self._turn = asyncio.Lock()  # one call is under way at a time

    async def call(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        """See `Session.call`."""
        for _ in range(MOST_LOST):
            async with self._turn:
                try:
                    return await self._called(program, arguments)
                except BaseException as error:
                    # The job has failed, or an answer is on its way that nobody waits for.
                    await self.end()
                    if not isinstance(error, NodeLost):
                        raise
        raise lost_again(f"a call of {program.function}")

    async def _called(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        if self._job is None:
            seat = await self._stack.enter_async_context(self._nodes.seat())
            self._job = await self._stack.enter_async_context(seat.job(_session, self._kind))
        self._job.tell((program, dict(arguments)))
        return cast("Outcome", await anext(self._job))

    async def end(self) -> None:
        """Give the worker back."""
        self._job = None
        await self._stack.aclose()


class NodeVerifier(Verifier):
    """A verifier whose searches and checks are done on nodes."""

    def __init__(self, nodes: Nodes, sandbox: Sandbox, basis: Basis) -> None:
        """Verify on `nodes`; `sandbox` has its sessions there."""
        super().__init__(sandbox, cast("Lane", None), basis)
        self._nodes = nodes

    async def properties(
        self,
        tool: Tool,
        golds: Iterable[Gold],
        before: Sequence[Problem] = (),
        *,
        only: Sequence[str] = tuple(PROPERTIES),
    ) -> Findings:
        """See `Verifier.properties`."""
        what = "properties", (tool, tuple(golds), tuple(before)), {"only": tuple(only)}
        return cast("Findings", await self._nodes.do(_verify, what))

    async def prove(self, task: Task, name: str) -> HopProof:
        """See `Verifier.prove`."""
        return cast("HopProof", await self._nodes.do(_verify, ("prove", (task, name), {})))


@asynccontextmanager
async def workshop(
    tools: Tools, executor: Literal["local", "ray"], address: str | None
) -> AsyncIterator[Workshop]:
    """A workshop here, or one that has nodes do its work.

    Raises:
        SandboxUnavailable: no sandbox can be had.
        MissingExtra, ClusterFault: see `nodes_of`.
    """
    if executor == "local":
        async with here(tools) as shop:
            yield shop
        return
    async with nodes_of(address, here, tools, seats=max(2, tools.at_a_time)) as nodes:
        rooms = {kind: NodeSandbox(nodes, kind) for kind in nodes.description}
        yield Workshop(NodeVerifier(nodes, next(iter(rooms.values())), tools.basis), rooms)
