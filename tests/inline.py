"""The process sandbox without its processes: for where isolation and limits are not the point.

A call in a process of its own takes some 3 ms of processor time, a worker's start 150. Here the
worker's own code compiles and runs tools under their policy within the tests' process, and the
host's own code reads what it says; what is missing is what only processes give: time and memory
limits, the lockdown, and memory that nothing else shares. Tools that need those are tested in
tests/sandbox and wherever a test says nothing of this module.
"""

from __future__ import annotations

import decimal
import functools
import random
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio.lowlevel
import pytest

from toolhop_sandbox import choose
from toolhop_sandbox.base import Limits, Policy, Program
from toolhop_sandbox.outcome import JSON, Outcome
from toolhop_sandbox.pool import Launcher, PooledSandbox
from toolhop_sandbox.process import ProcessLauncher
from toolhop_sandbox.replies import read_answer
from toolhop_sandbox.standbys import Compiled, Loadable
from toolhop_sandbox.worker import call, wire

HEAD = wire.LENGTH.size + 1
"""Bytes of a frame before its body."""


MOST_S = 20
"""Processor seconds after which a call is interrupted, and the test with it."""


@contextmanager
def _alarm() -> Iterator[None]:
    """Ends a tool that would go on for ever, and take the suite's memory.

    By the processor's time, so that a busy machine ends none.
    """

    def ring(number: int, frame: object) -> None:
        raise TimeoutError(f"a tool within the tests' process took {MOST_S} s of the processor")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, MOST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class InlineLink:
    """What the pool asks of a `WorkerLink`."""

    facts: Mapping[str, JSON] = {"python": sys.version.split()[0]}

    def prime(self, program: Loadable) -> None:
        pass

    async def compile(self, program: Program, policy: Policy, limits: Limits) -> Compiled | Outcome:
        frame = _compiled(program.source, policy)
        if frame[HEAD - 1 : HEAD] == wire.CODE:
            return Compiled(frame[HEAD:])
        return await read_answer(frame[HEAD - 1 :], limits, compiling=True)

    async def call(self, program: Loadable, arguments: bytes) -> Outcome:
        await anyio.lowlevel.checkpoint()
        state, module = random.getstate(), sys.modules.get("tool")
        loaded = call.loaded(program.frame[HEAD:])
        try:
            with decimal.localcontext(), _alarm():
                frame = call.run(loaded, arguments)
        finally:
            random.setstate(state)
            # The policy has a module of that name for the whole process.
            if module is None and loaded.policy != "restricted":
                sys.modules.pop("tool", None)
        return await read_answer(frame[HEAD - 1 :], program.limits)

    async def reset(self) -> None:
        pass

    async def ping(self) -> int:
        return 1


@functools.lru_cache(maxsize=1024)
def _compiled(source: str, policy: Policy) -> bytes:
    return call.compile_source({"source": source, "policy": policy})


@dataclass
class InlineWorker:
    link: Any = field(default_factory=InlineLink)

    async def stop(self) -> None:
        pass


class InlineLauncher:
    """In the place of a `ProcessLauncher`, whose description it has, for manifests."""

    description: Mapping[str, JSON] = {"kind": "process", **InlineLink.facts}

    async def prepare(self) -> None:
        pass

    async def start(self) -> InlineWorker:
        await anyio.lowlevel.checkpoint()
        return InlineWorker()

    async def close(self) -> None:
        pass


def inline_sandbox(limits: Limits | None = None, policy: Policy = "restricted") -> PooledSandbox:
    """A sandbox that starts nothing."""
    return PooledSandbox(InlineLauncher(), limits or Limits(), policy, max_workers=4)


def launcher(hash_seed: int = 0) -> Launcher:
    """Another order of sets than this process has takes a process."""
    return ProcessLauncher(hash_seed=hash_seed) if hash_seed else InlineLauncher()


@contextmanager
def inlined() -> Iterator[None]:
    """Within it every process sandbox that is opened is one of these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "ProcessLauncher", launcher)
        yield
