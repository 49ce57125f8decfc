"""A seat whose methods return when they are done, and what only a terminal has: Ctrl-C takes back
the call under way, and whoever types answers for users and tools that are simulated.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TypeAlias

import anyio
from anyio.from_thread import BlockingPortal

from toolhop_agents.serve.seat import Seat, TakenBack
from toolhop_env.episode import Episode, Step
from toolhop_env.levels import Verbosity
from toolhop_env.messages import Reply
from toolhop_env.runs.store import RunStore
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.model import RecordedTable, Simulated, Tool
from toolhop_tools.replied import as_json

INTERRUPTED = "the call was interrupted"

TypedAnswer: TypeAlias = Callable[[Tool, Mapping[str, JSON]], str]
"""Gets from whoever types what a call of a tool comes to. Raises EOFError or KeyboardInterrupt
where nothing does."""


@dataclass(eq=False, slots=True)
class PendingCall:
    """A call that waits for what is typed."""

    tool: Tool
    arguments: Mapping[str, JSON]
    given: anyio.Event
    text: str = ""

    def give(self, text: str) -> None:
        """Let the call go on; to be called where it waits."""
        self.text = text
        self.given.set()


@dataclass(slots=True)
class Typist:
    """Whoever types, as a stand-in (`toolhop_env.responders.Responder`)."""

    asked: SimpleQueue[PendingCall | None] = field(default_factory=SimpleQueue)
    """Calls that wait, for the thread of whoever types; None where no more will come."""

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """What was typed: for a simulated tool the JSON that it is, else a text."""
        asked = PendingCall(tool, arguments, anyio.Event())
        self.asked.put(asked)
        await asked.given.wait()
        if isinstance(tool.body, Simulated | RecordedTable):
            return Returned(as_json(asked.text))
        return Returned(json.dumps(asked.text, ensure_ascii=False))


class Branches:
    """An entered seat, whose event loop runs behind a portal."""

    def __init__(
        self, seat: Seat, portal: BlockingPortal, store: RunStore, typist: Typist | None = None
    ) -> None:
        """`typist` is the seat's stand-in, where it has one."""
        self.seat = seat
        self._portal = portal
        self._store = store
        self._typist = typist or Typist()

    @property
    def path(self) -> Path:
        """The trace file of the branch in play."""
        return self._store.path(self.episode.name)

    @property
    def episode(self) -> Episode:
        """The branch in play."""
        return self.seat.episode

    def back_to(self, turn: int) -> None:
        """See `Seat.back_to`."""
        self._portal.call(self.seat.back_to, turn)

    def fork(self, level: Verbosity) -> Step | None:
        """See `Seat.fork`."""
        return self._portal.call(self.seat.fork, level)

    def step(self, reply: Reply, answer: TypedAnswer | None = None) -> Step:
        """Take a turn. Ctrl-C stops the call that is under way.

        Args:
            reply: the turn.
            answer: answers the calls that wait for what is typed.

        Raises:
            TakenBack: it was stopped, or the sandbox lost the call.
            SandboxUnavailable: the sandbox can start no worker any more.
        """
        scopes: list[anyio.CancelScope] = []
        interrupts: list[object] = []

        async def run() -> Step:
            turn = len(self.seat.trace.replies) + 1
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                if interrupts:
                    scope.cancel()
                return await self.seat.step(reply)
            await self.seat.back_to(turn, INTERRUPTED)
            raise TakenBack(INTERRUPTED)

        def stop(*_: object) -> None:
            interrupts.append(None)
            for scope in scopes:
                self._portal.start_task_soon(scope.cancel)

        with _on_interrupt(stop):
            step = self._portal.start_task_soon(run)
            step.add_done_callback(lambda _: self._typist.asked.put(None))
            while (asked := self._typist.asked.get()) is not None:
                try:
                    text = answer(asked.tool, asked.arguments) if answer else ""
                except (KeyboardInterrupt, EOFError):
                    stop()
                else:
                    self._portal.call(asked.give, text)
            return step.result()


@contextmanager
def _on_interrupt(act: Callable[..., None]) -> Iterator[None]:
    """`act` instead of KeyboardInterrupt, which could come while the call is being handed over."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGINT, act)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
