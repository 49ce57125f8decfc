"""A sandbox that runs nothing and answers as it was set to. For tests of what stands on top.

async with CannedSandbox([Returned('"Paris"'), TimedOut(10.0)]) as sandbox: ...
CannedSandbox(lambda program, arguments: Returned(json.dumps(arguments["a"])))
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio.lowlevel

from toolhop_sandbox.base import Program
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, Outcome

Answer: TypeAlias = Callable[[Program, Mapping[str, JSON]], Outcome | Awaitable[Outcome]]
"""Gives a call's outcome, at once or when it is awaited. It may raise a `SandboxError`, as a
sandbox that breaks does."""


class CannedSandbox:
    """A `Sandbox` whose calls end in a given way."""

    def __init__(self, outcomes: Sequence[Outcome] | Answer) -> None:
        """Take the outcomes of the calls to come, in order over all sessions, or a function."""
        self.calls: list[tuple[Program, dict[str, JSON]]] = []
        """Every call that was made, in order."""
        self.open_sessions = 0
        """Sessions that were leased and not left."""
        self._answer = outcomes if callable(outcomes) else None
        self._left = [] if callable(outcomes) else list(outcomes)

    @property
    def description(self) -> Mapping[str, JSON]:
        """What isolates: nothing, as nothing runs."""
        return {"sandbox": "canned"}

    @asynccontextmanager
    async def session(self, programs: Sequence[Program] = ()) -> AsyncIterator[CannedSession]:
        """Lease a session; `programs` makes no difference."""
        self.open_sessions += 1
        try:
            yield CannedSession(self)
        finally:
            self.open_sessions -= 1

    async def outcome(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        """The outcome of the next call.

        Raises:
            SandboxFault: more calls were made than outcomes given.
        """
        self.calls.append((program, dict(arguments)))
        if self._answer is not None:
            answer = self._answer(program, arguments)
            return await answer if isinstance(answer, Awaitable) else answer
        if not self._left:
            raise SandboxFault(f"no outcome is left for call {len(self.calls)}; give one more")
        return self._left.pop(0)

    async def __aenter__(self) -> CannedSandbox:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return


class CannedSession:
    """A `Session` of a `CannedSandbox`."""

    def __init__(self, sandbox: CannedSandbox) -> None:
        self._sandbox = sandbox

    async def call(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        """The next outcome, after a checkpoint at which a cancelled call stops."""
        await anyio.lowlevel.checkpoint()
        return await self._sandbox.outcome(program, arguments)
