"""Distribute work other than episodes over a cluster: certificates, scenarios, tool checks.

Searching and drawing examples take at least as long as sandbox calls, so nodes receive whole items
and tools, not calls. Results do not depend on the node, and work of a lost node is done again. The
driver writes the results.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import anyio
import anyio.to_thread

from toolhop_agents.cluster.host import Channel, Opening
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
"""Items queued or under way per node slot, so that joining nodes find work at once and slow
items do not leave others idle."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster to distribute work over."""

    address: str | None = None
    """``HOST:PORT``; see `nodes_of`."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """Sandbox settings as a value, which can be sent to a node."""

    kind: Kind
    workers: int = max(2, os.cpu_count() or 1)
    """Number of concurrent items, per node on a cluster; by default one per processor."""
    base: str | None = None
    """Base image, container runtime and transport: see `open_sandbox`."""
    runtime: str | None = None
    transport: Transport = "auto"

    async def opened(self, basis: Basis) -> Sandbox:
        """Return a sandbox with the limits of a basis, not yet entered.

        Raises:
            SandboxUnavailable: it is not available here.
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


@dataclass(frozen=True, slots=True)
class _Place:
    """A place where pieces of work are done, local or on a node."""

    do: Callable[[Any], Awaitable[Any]]
    """Does a piece of work, given its description."""
    description: Mapping[str, JSON]


async def _do(place: _Place, piece: object, channel: Channel) -> Any:  # noqa: ANN401 -- as `do` returns
    del channel
    return await place.do(piece)


@asynccontextmanager
async def _spread(
    opening: Opening, given: object, workers: int, cluster: Cluster | None
) -> AsyncIterator[tuple[Callable[[str], Awaitable[Any]], int]]:
    """Yield a function that does a piece of work, and the number of pieces to have under way."""
    if cluster is None:
        async with opening(given) as place:
            yield place.do, workers
        return
    async with nodes_of(cluster.address, opening, given, seats=workers) as nodes:
        yield partial(nodes.do, _do), WAITING * nodes.room


# -- certificates ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Search:
    """The items to certify, with basis and sandbox."""

    items: Sequence[Item]
    basis: Basis
    isolation: Isolation


@asynccontextmanager
async def _certifier(search: Search) -> AsyncIterator[_Place]:
    items = {item.id: item for item in search.items}
    async with await search.isolation.opened(search.basis) as sandbox:
        yield _Place(
            lambda identity: certify_surely(items[identity], sandbox, search.basis),
            sandbox.description,
        )


def certifying(
    search: Search, cluster: Cluster | None
) -> AbstractAsyncContextManager[tuple[Callable[[str], Awaitable[Certificate]], int]]:
    """Open a context that yields a function to certify an item by id, and how many to run at once.

    Raises on entry:
        SandboxUnavailable: no sandbox is available.
        MissingExtra, ClusterFault: see `nodes_of`.
    """
    return _spread(_certifier, search, search.isolation.workers, cluster)


# -- scenarios -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Making:
    """The sources of scenarios, with recipe and sandbox."""

    items: Sequence[Item]
    """The whole data set, from which tools of other items come."""
    certificates: Mapping[str, Certificate]
    recipe: Recipe
    isolation: Isolation


@asynccontextmanager
async def _families(making: Making) -> AsyncIterator[_Place]:
    # All certificates share a basis; items that need none have that of their calls.
    basis = next((one.basis for one in making.certificates.values()), BY_CONSTRUCTION)
    async with await making.isolation.opened(basis) as sandbox:
        maker = FamilyMaker(making.items, making.certificates, sandbox, making.recipe)
        yield _Place(maker.family, sandbox.description)


def making_families(
    making: Making, cluster: Cluster | None
) -> AbstractAsyncContextManager[tuple[Callable[[str], Awaitable[Family | None]], int]]:
    """Open a context that yields a function to make an item's scenarios by id, and how many items
    to run at once.

    Raises the same exceptions on entry as `certifying`.
    """
    return _spread(_families, making, making.isolation.workers, cluster)


# -- checks of tools -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Checks:
    """The data that every node receives."""

    subjects: Sequence[Subject]
    job: CheckJob
    lanes: int


@asynccontextmanager
async def _lanes(checks: _Checks) -> AsyncIterator[_Place]:
    job = checks.job
    async with await open_sandbox(job.kind, limits=job.limits, max_workers=1) as sandbox:
        description = dict(sandbox.description)
    job = replace(job, kind=cast(Kind, description["kind"]))
    with ExitStack() as stack:
        # Hypothesis caches data in a folder, which must not be the driver's.
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        idle = deque(stack.enter_context(Lane(job)) for _ in range(checks.lanes))

        async def check(what: tuple[int, Sequence[Stored]]) -> dict[str, PropertyVerdict]:
            """All properties of a tool, by its place among the subjects."""
            at, before = what
            lane = idle.popleft()  # there are never more jobs than lanes
            try:
                lane.give(at, checks.subjects[at], job.properties, before)
                while not lane.idle:
                    await anyio.to_thread.run_sync(
                        partial(wait_for, [lane]), abandon_on_cancel=True
                    )
                    lane.look()
                return dict(lane.verdicts)
            finally:
                idle.append(lane)

        yield _Place(check, description)


async def check_on_nodes(
    subjects: Sequence[Subject],
    job: CheckJob,
    cluster: Cluster,
    *,
    lanes: int,
    on_report: Callable[[ToolReport], None],
) -> list[ToolReport]:
    """Like `check_all`, with `lanes` concurrent tools per node. The driver writes the store.

    Raises:
        SandboxError: the sandbox failed.
        StoreFault: the store cannot be written.
        MissingExtra, ClusterFault: see `nodes_of`.
    """
    store, done = job.store, dict[int, ToolReport]()
    given = _Checks(subjects, replace(job, store=None), lanes)

    async def check(at: int) -> None:
        subject = subjects[at]
        before = tuple(store.kept(subject)) if store else ()
        done[at] = ToolReport(subject, await nodes.do(_do, (at, before)))
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
