"""A sandbox over workers that are started once and lent to session after session."""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from sandbox.base import Limits, Policy, Program, Session
from sandbox.errors import SandboxFault
from sandbox.link import Compiled, WorkerLink
from sandbox.outcome import JSON, Outcome

log = logging.getLogger(__name__)

CACHED_PROGRAMS = 8192
"""Compiled programs kept on the host; the official data set has 3,912 of about 8 KB each."""


class Worker(Protocol):
    """A started worker and the way to end it."""

    @property
    def link(self) -> WorkerLink:
        """Its control socket's host end."""
        ...

    async def stop(self) -> None:
        """End it and remove every trace. Never raises for a worker that is gone already."""
        ...


class Launcher(Protocol):
    """How one kind of sandbox starts its workers."""

    @property
    def description(self) -> Mapping[str, JSON]:
        """What isolates, for manifests."""
        ...

    async def prepare(self) -> None:
        """Once before the first start: build what is missing, sweep what others left.

        Raises:
            SandboxUnavailable: this machine cannot run it.
        """
        ...

    async def start(self) -> Worker:
        """A worker that said hello.

        Raises:
            SandboxUnavailable, SandboxFault: none could be started.
        """
        ...


@dataclass
class PooledSandbox:
    """A `Sandbox` whose sessions take idle workers, or start new ones up to a number.

    A worker is reset before it goes back: every process in it but its first is killed, and the
    first never touched untrusted code. A session beyond `max_workers` waits for one to end.
    """

    launcher: Launcher
    limits: Limits = field(default_factory=Limits)
    policy: Policy = "restricted"
    max_workers: int = 2

    def __post_init__(self) -> None:
        self._idle: list[Worker] = []
        self._started: list[Worker] = []
        self._places = anyio.CapacityLimiter(self.max_workers)
        self._compiled: OrderedDict[str, Compiled | Outcome] = OrderedDict()

    @property
    def description(self) -> Mapping[str, JSON]:
        """What isolates (engine, image, policy, limits), for the run's manifest."""
        return {
            **self.launcher.description,
            "policy": self.policy,
            "wall_s": self.limits.wall_s,
            "memory_mib": self.limits.memory_mib,
            "result_bytes": self.limits.result_bytes,
        }

    async def __aenter__(self) -> PooledSandbox:
        await self.launcher.prepare()
        return self

    async def __aexit__(self, *exc: object) -> None:
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for worker in list(self._started):
                    tasks.start_soon(self._stop, worker)

    @asynccontextmanager
    async def session(self, programs: Sequence[Program] = ()) -> AsyncIterator[Session]:
        """Lease a worker; `programs` are compiled before the session begins.

        Raises:
            SandboxUnavailable: no worker can be started.
            SandboxFault: the worker was lost while compiling.
        """
        async with self._places:
            worker = await self._take()
            session = _PoolSession(self, worker)
            try:
                for program in programs:
                    await session.compiled(program)
                yield session
            finally:
                with anyio.CancelScope(shield=True):
                    await self._give_back(worker)

    async def _take(self) -> Worker:
        while self._idle:
            worker = self._idle.pop()
            try:
                await worker.link.ping()
            except SandboxFault as fault:
                log.info("an idle worker was lost: %s", fault)
                await self._stop(worker)
            else:
                return worker
        worker = await self.launcher.start()
        self._started.append(worker)
        return worker

    async def _give_back(self, worker: Worker) -> None:
        try:
            await worker.link.reset()
        except SandboxFault as fault:
            log.info("a worker was lost: %s", fault)
            await self._stop(worker)
        else:
            self._idle.append(worker)

    async def _stop(self, worker: Worker) -> None:
        if worker in self._started:
            self._started.remove(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        await worker.stop()

    def cached(self, digest: str) -> Compiled | Outcome | None:
        """What compiling the program of this digest gave, if it was compiled before."""
        return self._compiled.get(digest)

    def keep(self, digest: str, compiled: Compiled | Outcome) -> None:
        """Remember what compiling gave, dropping the oldest beyond `CACHED_PROGRAMS`."""
        self._compiled[digest] = compiled
        while len(self._compiled) > CACHED_PROGRAMS:
            self._compiled.popitem(last=False)


class _PoolSession:
    """One session's use of a pooled worker."""

    def __init__(self, sandbox: PooledSandbox, worker: Worker) -> None:
        self._sandbox = sandbox
        self._link = worker.link
        # Invariant: one call is under way in a worker at a time.
        self._turn = anyio.Lock()

    async def compiled(self, program: Program) -> Compiled | Outcome:
        """The program's code, from the cache or compiled in the worker now."""
        found = self._sandbox.cached(program.digest)
        if found is None:
            found = await self._link.compile(program, self._sandbox.policy, self._sandbox.limits)
            self._sandbox.keep(program.digest, found)
        return found

    async def call(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        """See `Session.call`."""
        text = json.dumps(arguments).encode()
        async with self._turn:
            compiled = await self.compiled(program)
            if not isinstance(compiled, Compiled):
                return compiled
            sandbox = self._sandbox
            return await self._link.call(compiled, program, text, sandbox.limits, sandbox.policy)
