"""Work that is no episode, on the nodes of a cluster: certificates, scenarios, checks of tools.

Searching and drawing examples take as much time here as calls do in the sandbox, or more, so that
nodes are given whole items and tools, not calls. What is given comes out the same wherever it is
done, and is done again where a node is lost. The driver writes what comes of it.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import anyio
import anyio.to_thread

from toolhop_agents.cluster.host import Channel
from toolhop_agents.cluster.nodes import nodes_of
from toolhop_sandbox.base import Limits, Policy, Sandbox
from toolhop_sandbox.choose import Kind, open_sandbox
from toolhop_sandbox.docker.engine import Transport
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.construction import certify_surely
from toolhop_tools.certify.model import Basis, Certificate
from toolhop_tools.model import Item
from toolhop_tools.properties.check import CheckJob
from toolhop_tools.properties.lanes import Lane, wait_for
from toolhop_tools.properties.model import PropertyVerdict, Subject, ToolReport
from toolhop_tools.properties.store import Stored
from toolhop_tools.scenarios.make import BY_CONSTRUCTION, Family, FamilyMaker, Recipe

WAITING = 4
"""Items that wait or are under way for each that nodes have room for: so that those that join have
some to begin with, and a slow one keeps none from work."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster to spread work over."""

    address: str | None = None
    """``HOST:PORT``; see `nodes_of`."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """What items are searched in; a value, so that it can be sent to a node."""

    kind: Kind
    workers: int
    """Items at a time; on each node, where there are nodes."""
    base: str | None = None
    """Image to build on, container runtime and transport: see `open_sandbox`."""
    runtime: str | None = None
    transport: Transport = "auto"

    async def opened(self, basis: Basis) -> Sandbox:
        """A sandbox with the limits of a basis, not entered.

        Raises:
            SandboxUnavailable: it cannot be had here.
        """
        return await open_sandbox(
            self.kind,
            limits=Limits(wall_s=basis.wall_s, memory_mib=basis.memory_mib),
            policy=cast(Policy, basis.policy),
            max_workers=self.workers,
            base=self.base,
            runtime=self.runtime,
            transport=self.transport,
        )


# -- certificates ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Certifier:
    """A node's place for certifying."""

    sandbox: Sandbox
    items: Mapping[str, Item]
    basis: Basis

    @property
    def description(self) -> Mapping[str, JSON]:
        return self.sandbox.description


@dataclass(frozen=True, slots=True)
class Search:
    """What is certified, by which bounds, and where."""

    items: Sequence[Item]
    basis: Basis
    isolation: Isolation


@asynccontextmanager
async def _certifier(search: Search) -> AsyncIterator[_Certifier]:
    async with await search.isolation.opened(search.basis) as sandbox:
        yield _Certifier(sandbox, {item.id: item for item in search.items}, search.basis)


async def _certify(place: _Certifier, identity: str, channel: Channel) -> Certificate:
    del channel
    return await certify_surely(place.items[identity], place.sandbox, place.basis)


@asynccontextmanager
async def certifying(
    search: Search, cluster: Cluster | None
) -> AsyncIterator[tuple[Callable[[Item], Awaitable[Certificate]], int]]:
    """What certifies an item, here or on nodes, and how many items to give it at a time.

    Raises:
        SandboxUnavailable: no sandbox can be had.
        MissingExtra, ClusterFault: see `nodes_of`.
    """
    workers = search.isolation.workers
    if cluster is None:
        async with _certifier(search) as place:
            yield lambda item: certify_surely(item, place.sandbox, place.basis), workers
        return
    async with nodes_of(cluster.address, _certifier, search, seats=workers) as nodes:
        yield lambda item: nodes.do(_certify, item.id), WAITING * nodes.room


# -- scenarios -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Making:
    """What scenarios are made of, and where."""

    items: Sequence[Item]
    """The whole data set: tools of other items come from it."""
    certificates: Mapping[str, Certificate]
    recipe: Recipe
    isolation: Isolation

    @property
    def basis(self) -> Basis:
        """Of all certificates; of items that need none, that of their calls."""
        return next((one.basis for one in self.certificates.values()), BY_CONSTRUCTION)


@dataclass(frozen=True, slots=True)
class _FamilyPlace:
    """A node's place for making scenarios."""

    maker: FamilyMaker
    description: Mapping[str, JSON]


@asynccontextmanager
async def _families(making: Making) -> AsyncIterator[_FamilyPlace]:
    async with await making.isolation.opened(making.basis) as sandbox:
        maker = FamilyMaker(making.items, making.certificates, sandbox, making.recipe)
        yield _FamilyPlace(maker, sandbox.description)


async def _make_family(place: _FamilyPlace, identity: str, channel: Channel) -> Family | None:
    del channel
    return await place.maker.family(identity)


@asynccontextmanager
async def making_families(
    making: Making, cluster: Cluster | None
) -> AsyncIterator[tuple[Callable[[str], Awaitable[Family | None]], int]]:
    """What makes the scenarios of an item, by its id, and how many items to give it at a time.

    Raises:
        SandboxUnavailable: no sandbox can be had.
        MissingExtra, ClusterFault: see `nodes_of`.
    """
    workers = making.isolation.workers
    if cluster is None:
        async with _families(making) as place:
            yield place.maker.family, workers
        return
    async with nodes_of(cluster.address, _families, making, seats=workers) as nodes:
        yield partial(nodes.do, _make_family), WAITING * nodes.room


# -- checks of tools -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Checks:
    """What all nodes are given."""

    subjects: Sequence[Subject]
    job: CheckJob
    lanes: int


@dataclass(frozen=True, slots=True)
class _LanePlace:
    """A node's place for checks: lanes, those that are idle."""

    subjects: Sequence[Subject]
    job: CheckJob
    idle: deque[Lane]
    description: Mapping[str, JSON]


@asynccontextmanager
async def _lanes(checks: _Checks) -> AsyncIterator[_LanePlace]:
    job = checks.job
    async with await open_sandbox(job.kind, limits=job.limits, max_workers=1) as sandbox:
        description = dict(sandbox.description)
    job = replace(job, kind=cast(Kind, description["kind"]))
    with ExitStack() as stack:
        # Hypothesis keeps what it works out in a folder; the driver's has none of it.
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        lanes = [stack.enter_context(Lane(job)) for _ in range(checks.lanes)]
        yield _LanePlace(checks.subjects, job, deque(lanes), description)


async def _check_tool(
    place: _LanePlace, what: tuple[int, Sequence[Stored]], channel: Channel
) -> dict[str, PropertyVerdict]:
    """All properties of a tool, by its place among the subjects."""
    del channel
    at, before = what
    lane = place.idle.popleft()  # as many jobs as lanes are under way
    try:
        lane.give(at, place.subjects[at], place.job.properties, before)
        while not lane.idle:
            await anyio.to_thread.run_sync(partial(wait_for, [lane]), abandon_on_cancel=True)
            lane.look()
        return dict(lane.verdicts)
    finally:
        place.idle.append(lane)


async def check_on_nodes(
    subjects: Sequence[Subject],
    job: CheckJob,
    cluster: Cluster,
    *,
    lanes: int,
    on_report: Callable[[ToolReport], None],
) -> list[ToolReport]:
    """As `check_all`, with `lanes` tools at a time on each node; the store is the driver's.

    Raises:
        SandboxError: the sandbox is at fault.
        StoreFault: the store cannot be written.
        MissingExtra, ClusterFault: see `nodes_of`.
    """
    store, done = job.store, dict[int, ToolReport]()
    given = _Checks(subjects, replace(job, store=None), lanes)

    async def check(at: int) -> None:
        subject = subjects[at]
        before = tuple(store.kept(subject)) if store else ()
        done[at] = ToolReport(subject, await nodes.do(_check_tool, (at, before)))
        if store is not None:
            for found in done[at].failed:
                store.keep(subject, found)
        on_report(done[at])

    async with nodes_of(cluster.address, _lanes, given, seats=lanes) as nodes:
        tasks = [asyncio.create_task(check(at)) for at in range(len(subjects))]
        try:
            for task in asyncio.as_completed(tasks):
                await task
        finally:
            for task in tasks:
                task.cancel()
    return [done[at] for at in range(len(subjects))]
