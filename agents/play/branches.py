"""The episodes of one game: going back forks the trace, and both branches are kept.

A branch is an attempt of the same unit, with a trace file of its own that holds the whole way
from the first turn. The one left behind ends as `void`, with the reason, so that a score of the
run's folder counts the branch that was played to the end and no other; the new one's `started`
event names it as its parent. Turns that are kept are not run again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
from anyio.from_thread import BlockingPortal

from agents.runs.runner import Unit, setting
from agents.runs.settings import RunSettings
from agents.runs.store import EPISODES, RunStore, file_name
from env.episode import Episode, Step
from env.levels import Verbosity
from env.messages import Reply
from env.trace import Ending, Trace
from sandbox.base import Sandbox
from sandbox.errors import SandboxFault
from toolhop_tools.model import Item


class TakenBack(Exception):
    """A turn came to nothing, for the reason given, and was taken back."""


class Branches:
    """The branch in play, and the way to the next. Its methods return when they are done."""

    def __init__(
        self,
        item: Item,
        settings: RunSettings,
        sandbox: Sandbox,
        store: RunStore,
        portal: BlockingPortal,
    ) -> None:
        """Over an entered sandbox, whose event loop runs behind `portal`."""
        self.settings = settings
        self.store = store
        self._unit = Unit(item, settings.modes[0], 1, attempt=0)
        self._sandbox = sandbox
        self._portal = portal
        self._leases = ExitStack()
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        """The branch in play."""
        if self._episode is None:
            raise RuntimeError("no branch is open: enter `Branches` first")
        return self._episode

    @property
    def count(self) -> int:
        """Branches so far, the one in play included."""
        return self._unit.attempt

    @property
    def path(self) -> Path:
        """The trace file of the branch in play."""
        return self.store.folder / EPISODES / f"{file_name(self._unit.name)}.jsonl"

    def __enter__(self) -> Branches:
        """Open the first branch.

        Raises:
            SandboxError: no worker can be had.
        """
        self._open(None, self.settings.feedback)
        return self

    def __exit__(self, *exc: object) -> None:
        self._leases.close()

    def _open(self, kept: Trace | None, level: Verbosity) -> None:
        self._unit = replace(self._unit, attempt=self._unit.attempt + 1)
        sink = self._leases.enter_context(self.store.sink(self._unit.name))
        self._episode = Episode(
            self._unit.item,
            self._sandbox,
            replace(setting(self.settings, self._unit), feedback=level),
            sink=sink,
            name=self._unit.name,
            resume_from=kept,
        )
        self._leases.enter_context(self._portal.wrap_async_context_manager(self._episode))

    def back_to(self, turn: int, reason: str) -> None:
        """Leave the branch and go on in a new one, where `turn` is to be taken next.

        The feedback level stays as it is now.
        """
        left = self.episode
        left.end(Ending.VOID, f"{reason}; attempt {self.count + 1} goes on before turn {turn}")
        self._leases.close()
        self._open(left.trace.before_turn(turn), left.feedback_level)

    def step(self, reply: Reply) -> Step:
        """Take a turn. Ctrl-C stops the call that is under way.

        Raises:
            TakenBack: it was stopped, or the sandbox lost the call.
            SandboxUnavailable: the sandbox can start no worker any more.
        """
        turn = len(self.episode.trace.replies) + 1
        try:
            step = self._interruptible(reply)
            reason = "the call was interrupted"
        except SandboxFault as fault:
            step, reason = None, f"the sandbox lost the call ({fault})"
        if step is None:
            self.back_to(turn, reason)
            raise TakenBack(reason)
        return step

    def _interruptible(self, reply: Reply) -> Step | None:
        """The step; None where Ctrl-C came before its end."""
        episode = self.episode
        scopes: list[anyio.CancelScope] = []
        interrupts: list[object] = []

        async def run() -> Step | None:
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                if interrupts:
                    scope.cancel()
                return await episode.step(reply)
            return None

        def stop(*_: object) -> None:
            interrupts.append(None)
            for scope in scopes:
                self._portal.start_task_soon(scope.cancel)

        with _on_interrupt(stop):
            return self._portal.start_task_soon(run).result()


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
