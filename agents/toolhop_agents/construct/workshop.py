"""Sandboxes and a lane in which generated tools are verified, locally or on cluster nodes.

The driver asks the models and writes the ledger. Nodes receive whole searches and whole tool
checks; single calls, and the oracle's episodes, are sent one by one (`NodeSandbox`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

from toolhop_agents.cluster.host import Channel
from toolhop_agents.cluster.nodes import Nodes, nodes_of
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
from toolhop_tools.properties.model import Gold


@dataclass(frozen=True, slots=True)
class Tools:
    """Verification settings, as a plain value that can be sent to a node."""

    sandbox: Kind
    basis: Basis
    examples: int
    seed: int
    at_a_time: int


@dataclass(frozen=True, slots=True)
class Workshop:
    """The verifier of tools, and the sandboxes by kind in which the oracle plays."""

    verifier: Verifier
    rooms: Mapping[str, Sandbox]

    @property
    def description(self) -> Mapping[str, JSON]:
        """Descriptions of the sandboxes, by kind."""
        return {name: dict(room.description) for name, room in self.rooms.items()}


@asynccontextmanager
async def here(tools: Tools) -> AsyncIterator[Workshop]:
    """Open a workshop on this machine.

    Raises:
        SandboxUnavailable: no sandbox is available.
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
        # A run may be played in any sandbox, so the oracle has to be right in each.
        if tools.sandbox == "auto" and (
            other == "process" or await answers(DockerEngine(limits=limits))
        ):
            second = await open_sandbox(other, limits=limits, max_workers=tools.at_a_time)
            rooms[other] = await stack.enter_async_context(second)
        yield Workshop(Verifier(sandbox, lane, tools.basis), rooms)


# -- on a node -------------------------------------------------------------------------------------


async def _verify(place: Workshop, what: tuple[str, tuple[Any, ...]], channel: Channel) -> Any:  # noqa: ANN401 -- calls a method of `Verifier` by name, and these return different types
    del channel
    method, given = what
    return await getattr(place.verifier, method)(*given)


async def _call(
    place: Workshop, what: tuple[str, Program, Mapping[str, JSON]], channel: Channel
) -> Outcome:
    del channel
    kind, program, arguments = what
    async with place.rooms[kind].session() as session:
        return await session.call(program, arguments)


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
        """See `Sandbox.session`."""
        del programs
        yield _NodeSession(self.nodes, self.kind)

    async def __aenter__(self) -> NodeSandbox:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None


@dataclass(frozen=True)
class _NodeSession:
    """Runs calls on any node. Each call is an independent job, repeated if its node is lost."""

    nodes: Nodes
    kind: str

    async def call(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        """See `Session.call`."""
        what = self.kind, program, dict(arguments)
        return cast("Outcome", await self.nodes.do(_call, what))


class NodeVerifier(Verifier):
    """A verifier that runs its searches and checks on nodes."""

    def __init__(self, nodes: Nodes, sandbox: Sandbox, basis: Basis) -> None:
        """Verify on `nodes`, with the sessions of `sandbox` there."""
        super().__init__(sandbox, cast("Lane", None), basis)
        self._nodes = nodes

    async def properties(
        self, tool: Tool, before: Sequence[Problem] = (), gold: Gold | None = None
    ) -> Findings:
        """See `Verifier.properties`."""
        what = "properties", (tool, tuple(before), gold)
        return cast("Findings", await self._nodes.do(_verify, what))

    async def prove(self, task: Task, name: str) -> HopProof:
        """See `Verifier.prove`."""
        return cast("HopProof", await self._nodes.do(_verify, ("prove", (task, name))))


@asynccontextmanager
async def workshop(
    tools: Tools, executor: Literal["local", "ray"], address: str | None
) -> AsyncIterator[Workshop]:
    """Open a local workshop, or one that delegates to cluster nodes.

    Raises:
        SandboxUnavailable: no sandbox is available.
        MissingExtra, ClusterFault: see `nodes_of`.
    """
    if executor == "local":
        async with here(tools) as shop:
            yield shop
        return
    async with nodes_of(address, here, tools, seats=max(2, tools.at_a_time)) as nodes:
        rooms = {kind: NodeSandbox(nodes, kind) for kind in nodes.description}
        yield Workshop(NodeVerifier(nodes, next(iter(rooms.values())), tools.basis), rooms)
