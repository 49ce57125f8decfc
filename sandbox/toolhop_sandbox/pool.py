"""A sandbox whose workers are started once and lent to one session after another."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import anyio

from toolhop_sandbox.base import Limits, Policy, Program, Session
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.link import WorkerLink
from toolhop_sandbox.outcome import JSON, Outcome, OutOfMemory, TimedOut
from toolhop_sandbox.standbys import Compiled, Loadable, loadable

log = logging.getLogger(__name__)
T = TypeVar("T")

CACHED_PROGRAMS = 8192
"""Maximum number of compiled programs kept on the host; the official data set has 3,912 of about
8 KB each."""


class Worker(Protocol):
    """A started worker, and how to end it."""

    @property
    def link(self) -> WorkerLink:
        """The host's end of its control socket."""
        ...

    async def stop(self) -> None:
        """End the worker and remove every trace of it. Never raises if it is already gone."""
        ...


class Launcher(Protocol):
    """Starts the workers of one kind of sandbox."""

    @property
    def description(self) -> Mapping[str, JSON]:
        """The isolation in use, for manifests."""
        ...

    async def prepare(self) -> None:
        """Prepare for the first start: build what is missing, remove what other runs left behind.

        Raises:
            SandboxUnavailable: this machine cannot run the sandbox.
        """
        ...

    async def start(self) -> Worker:
        """Start a worker and wait for its greeting.

        Raises:
            SandboxUnavailable, SandboxFault: no worker could be started.
        """
        ...

    async def close(self) -> None:
        """Release what `prepare` and `start` opened, after the last worker has stopped."""
        ...


@dataclass
class PooledSandbox:
    """A `Sandbox` whose sessions take idle workers, or start new ones up to a maximum.

    A worker is reset before it is reused: every process in it except its first is killed, and the
    first never touched untrusted code. A session beyond `max_workers` waits for another to end.
    """

    launcher: Launcher
    limits: Limits = field(default_factory=Limits)
    policy: Policy = "restricted"
    max_workers: int = 2
    ahead: int = 0
    """Workers to start ahead of demand, one after another, so that a burst of sessions finds
    them ready and the engine is not asked for all at once. At most `max_workers`."""

    def __post_init__(self) -> None:
        self._idle: list[Worker] = []
        self._started: list[Worker] = []
        self._starting = 0
        self._coming: asyncio.Task[Worker] | None = None
        """A worker that is starting and that no session awaits yet."""
        # Invariant: at most `max_workers` are started. No CapacityLimiter, which refuses a task
        # its second place: one task may well hold two sessions.
        self._places = anyio.Semaphore(self.max_workers)
        self._compiled: OrderedDict[Program, Loadable | Outcome] = OrderedDict()

    @property
    def description(self) -> Mapping[str, JSON]:
        """The isolation in use (engine, image, policy, limits), for the run's manifest."""
        return {
            **self.launcher.description,
            "policy": self.policy,
            "wall_s": self.limits.wall_s,
            "memory_mib": self.limits.memory_mib,
            "result_bytes": self.limits.result_bytes,
        }

    async def __aenter__(self) -> PooledSandbox:
        try:
            await self.launcher.prepare()
        except BaseException:
            await self._close()
            raise
        self._fill()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._close()

    async def _close(self) -> None:
        self.ahead = 0
        with anyio.CancelScope(shield=True):
            if self._coming is not None:
                self._coming.cancel()
                await asyncio.wait([self._coming])
            async with anyio.create_task_group() as tasks:
                for worker in list(self._started):
                    tasks.start_soon(self.stop, worker)
            await self.launcher.close()

    @asynccontextmanager
    async def session(self, programs: Sequence[Program] = ()) -> AsyncIterator[Session]:
        """Lease a worker; `programs` are compiled before the session begins.

        Raises:
            SandboxUnavailable: no worker can be started.
            SandboxFault: the worker was lost while compiling.
        """
        async with self._places:
            session = _PoolSession(self, await self.take())
            try:
                await session.make_ready(programs)
                yield session
            finally:
                with anyio.CancelScope(shield=True):
                    await session.end()

    async def take(self) -> Worker:
        """Return an idle worker that answers, or a new one.

        Raises:
            SandboxUnavailable, SandboxFault: no worker could be started.
        """
        while self._idle:
            worker = self._idle.pop()
            try:
                await worker.link.ping()
            except SandboxFault as fault:
                log.info("an idle worker was lost: %s", fault)
                await self.stop(worker)
            except BaseException:
                # Cancelled, so it is unknown whether the worker answers.
                await self.stop(worker)
                raise
            else:
                return worker
        if self._coming is not None:
            worker = await self._claim(self._coming)
        else:
            worker = await self._start()
        self._fill()
        return worker

    async def _claim(self, coming: asyncio.Task[Worker]) -> Worker:
        self._coming = None
        try:
            return await coming
        except asyncio.CancelledError:
            if coming.done() and not coming.cancelled() and coming.exception() is None:
                self._idle.append(coming.result())
            raise

    async def _start(self) -> Worker:
        self._starting += 1
        try:
            worker = await self.launcher.start()
        finally:
            self._starting -= 1
        self._started.append(worker)
        return worker

    def _fill(self) -> None:
        """Start another worker if there are fewer than `ahead`."""
        wanted = min(self.ahead, self.max_workers)
        if self._coming is None and len(self._started) + self._starting < wanted:
            self._coming = asyncio.create_task(self._start())
            self._coming.add_done_callback(self._came)

    def _came(self, coming: asyncio.Task[Worker]) -> None:
        """Add a worker that no session awaited to the idle ones."""
        if self._coming is not coming:
            return
        self._coming = None
        # On failure, a session that needs a worker starts one itself and reports the error.
        if not coming.cancelled() and coming.exception() is None:
            self._idle.append(coming.result())
            self._fill()

    async def give_back(self, worker: Worker) -> None:
        """Reset a worker and keep it for the next session; remove it if it is lost."""
        try:
            await worker.link.reset()
        except SandboxFault as fault:
            log.info("a worker was lost: %s", fault)
            await self.stop(worker)
        else:
            self._idle.append(worker)

    async def stop(self, worker: Worker) -> None:
        """Remove a worker for good."""
        if worker in self._started:
            self._started.remove(worker)
            self._fill()
        with anyio.CancelScope(shield=True):
            await worker.stop()

    def cached(self, program: Program) -> Loadable | Outcome | None:
        """Return the earlier result of compiling the program; None if there is none."""
        return self._compiled.get(program)

    def keep(self, program: Program, compiled: Loadable | Outcome) -> None:
        """Cache a result of compiling, dropping the oldest beyond `CACHED_PROGRAMS`."""
        self._compiled[program] = compiled
        while len(self._compiled) > CACHED_PROGRAMS:
            self._compiled.popitem(last=False)


class _PoolSession:
    """One session's use of a pooled worker, which is replaced if it is lost."""

    def __init__(self, sandbox: PooledSandbox, worker: Worker) -> None:
        self._sandbox = sandbox
        self._worker: Worker | None = worker
        self._ended = False
        # Invariant: a worker runs one call at a time. Not anyio's lock, which goes
        # around the event loop once even if nothing waits.
        self._turn = asyncio.Lock()

    async def call(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        """See `Session.call`.

        Raises:
            RuntimeError: the session has ended.
        """
        text = json.dumps(arguments).encode()
        async with self._turn:
            found = self._sandbox.cached(program) or await self._compiled(program)
            if not isinstance(found, Loadable):
                return found
            return await self._use(lambda link: link.call(found, text))

    async def make_ready(self, programs: Sequence[Program]) -> None:
        """Compile the programs, and let the worker prepare processes that hold them."""
        for program in programs:
            async with self._turn:
                compiled = await self._compiled(program)
                if isinstance(compiled, Loadable) and self._worker is not None:
                    self._worker.link.prime(compiled)

    async def end(self) -> None:
        """Return the worker to the pool, after any call in another task has ended."""
        self._ended = True
        async with self._turn:
            worker, self._worker = self._worker, None
            if worker is not None:
                await self._sandbox.give_back(worker)

    async def _compiled(self, program: Program) -> Loadable | Outcome:
        """Return the program in the form that standbys load, from the cache or compiled now."""
        sandbox = self._sandbox
        found = sandbox.cached(program)
        if found is not None:
            return found
        made = await self._use(lambda link: link.compile(program, sandbox.policy, sandbox.limits))
        if isinstance(made, Compiled):
            ready = loadable(made, program, sandbox.limits, sandbox.policy)
            sandbox.keep(program, ready)
            return ready
        # Time and memory depend on the moment; other outcomes depend on the source alone.
        if not isinstance(made, TimedOut | OutOfMemory):
            sandbox.keep(program, made)
        return made

    async def _use(self, work: Callable[[WorkerLink], Awaitable[T]]) -> T:
        """Do `work` with the worker's link; discard the worker if it is lost."""
        if self._ended:
            raise RuntimeError("this session has ended; open another one to call")
        if self._worker is None:
            self._worker = await self._sandbox.take()
        worker = self._worker
        try:
            return await work(worker.link)
        except SandboxFault:
            self._worker = None
            await self._sandbox.stop(worker)
            raise
