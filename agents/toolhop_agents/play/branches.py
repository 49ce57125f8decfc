"""An item being played at a terminal: step, back, fork, feedback level, score.

Going back and forking leave the current branch and open another: a new attempt, whose trace holds
all turns from the first. Shared turns are not run again. The branch left behind ends as errored,
with the reason, so that the branch played to its end is the attempt that counts; the `started`
event of the new branch names its parent.

Ctrl-C takes back the current call. The player answers for simulated users and tools.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Self, TypeAlias

import anyio
from anyio.from_thread import BlockingPortal

from toolhop_agents.runs.unit import WorkUnit
from toolhop_env.benchmark import Milestone
from toolhop_env.benchmarks import named, score
from toolhop_env.episode import Episode, Step
from toolhop_env.fork import fork
from toolhop_env.levels import Verbosity
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import Reply
from toolhop_env.responders import StandIns
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Verdict
from toolhop_env.setting import Setting
from toolhop_env.trace import Ending, Trace
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.model import RecordedTable, Simulated, Tool
from toolhop_tools.replied import as_json

INTERRUPTED = "the call was interrupted"

TypedAnswer: TypeAlias = Callable[[Tool, Mapping[str, JSON]], str]
"""Asks the player for the result of a call. Raises EOFError or KeyboardInterrupt if the player
gives none."""


class TakenBack(Exception):
    """Raised when a turn was taken back; the message gives the reason."""


class NoWayBack(ValueError):
    """Raised if there is no such turn to go back to, or no failed call to fork at."""


@dataclass(frozen=True, slots=True)
class EpisodeProgress:
    """The agent's progress in an episode."""

    turn: int
    """Number of the next turn, from 1."""
    turn_limit: int | None
    calls: int
    failed: int
    milestones: tuple[Milestone, ...]
    """The benchmark's milestones, each reached or not."""

    @property
    def reached(self) -> int:
        """Number of milestones reached."""
        return sum(one.reached for one in self.milestones)

    @property
    def last(self) -> bool:
        """Whether this is the last turn, which can only be an answer."""
        return self.turn_limit is not None and self.turn >= self.turn_limit

    @property
    def place(self) -> str:
        """The turn in short form, such as ``2/9``."""
        return str(self.turn) if self.turn_limit is None else f"{self.turn}/{self.turn_limit}"

    def status(self, milestone: str | None) -> str:
        """Return the progress as one line, such as ``hops 1/3 · turn 2/9 · calls 4, failed 1``.

        If `milestone`, the name of a milestone, is None, the milestones are omitted.
        """
        tells = milestone and self.milestones
        way = f"{milestone}s {self.reached}/{len(self.milestones)} · " if tells else ""
        return f"{way}turn {self.place} · calls {self.calls}, failed {self.failed}"


def progress(trace: Trace, limits: EpisodeLimits) -> EpisodeProgress:
    """Return the agent's progress in a trace."""
    return EpisodeProgress(
        turn=len(trace.replies) + 1,
        turn_limit=limits.turns,
        calls=len(trace.tool_calls),
        failed=sum(call.error is not None for call in trace.tool_calls),
        milestones=tuple(named(trace.started.benchmark).presentation.milestones(trace)),
    )


@dataclass(eq=False, slots=True)
class PendingCall:
    """A call that waits for its result to be typed."""

    tool: Tool
    arguments: Mapping[str, JSON]
    given: anyio.Event
    text: str = ""

    def give(self, text: str) -> None:
        """Resume the call with the typed text. Must be called on the event loop."""
        self.text = text
        self.given.set()


@dataclass(slots=True)
class Typist:
    """The player as a stand-in for tools and users (`toolhop_env.responders.Responder`)."""

    asked: SimpleQueue[PendingCall | None] = field(default_factory=SimpleQueue)
    """Waiting calls, for the player's thread; None ends the queue."""

    async def respond(self, tool: Tool, arguments: Mapping[str, JSON]) -> Outcome:
        """Return the typed text: as JSON for a simulated tool, else as a string."""
        asked = PendingCall(tool, arguments, anyio.Event())
        self.asked.put(asked)
        await asked.given.wait()
        if isinstance(tool.body, Simulated | RecordedTable):
            return Returned(as_json(asked.text))
        return Returned(json.dumps(asked.text, ensure_ascii=False))


class Branches:
    """One item in play, on an event loop reached through a portal. Use it as a context manager."""

    def __init__(
        self,
        portal: BlockingPortal,
        sandbox: Sandbox,
        store: RunStore,
        unit: WorkUnit,
        setting: Setting,
        *,
        typist: Typist | None = None,
        stand_ins: StandIns | None = None,
        resume_from: Trace | None = None,
    ) -> None:
        """Prepare a game; nothing runs before it is entered.

        Args:
            portal: portal to the loop in which everything runs.
            sandbox: an entered sandbox; one session at a time is leased from it.
            store: store for the trace of each branch.
            unit: the work to play; each branch is its next attempt.
            setting: setting of the first branch. Later branches inherit the current feedback
                level.
            typist: the player, if `stand_ins` includes one.
            stand_ins: responders for simulated tools and for questions to the user.
            resume_from: complete turns of an earlier game, with which the first branch begins.
        """
        self._portal, self._sandbox, self._store = portal, sandbox, store
        self._unit, self._setting = unit, setting
        self._typist = typist or Typist()
        self._stand_ins, self._resume_from = stand_ins, resume_from
        self._leases = AsyncExitStack()
        self._episode: Episode | None = None
        self.count = 0
        """Number of branches so far, including the current one."""

    @property
    def episode(self) -> Episode:
        """The current branch."""
        if self._episode is None:
            raise RuntimeError("no branch is open: enter the game with `with` first")
        return self._episode

    @property
    def path(self) -> Path:
        """The trace file of the current branch."""
        return self._store.path(self.episode.name)

    @property
    def progress(self) -> EpisodeProgress:
        """The progress of the current branch."""
        return progress(self.episode.trace, self.episode.setting.limits)

    def __enter__(self) -> Self:
        """Open the first branch.

        Raises:
            SandboxError: no worker is available.
            MissingResponder: a tool needs a stand-in that was not given.
        """
        self._portal.call(self._open, self._resume_from, self._setting.feedback)
        return self

    def __exit__(self, *exc: object) -> None:
        self._portal.call(self._leases.aclose)

    async def _open(self, prefix: Trace | None, level: Verbosity) -> None:
        await self._leases.aclose()
        unit = replace(self._unit, attempt=self._unit.attempt + self.count)
        self.count += 1
        self._episode = Episode(
            unit.item,
            self._sandbox,
            replace(self._setting, feedback=level, attempt=unit.attempt),
            sink=self._leases.enter_context(self._store.sink(unit.name)),
            name=unit.name,
            resume_from=prefix,
            stand_ins=self._stand_ins,
        )
        await self._leases.enter_async_context(self._episode)

    async def _back_to(self, turn: int, reason: str) -> None:
        prefix = self.episode.trace.before_turn(turn)
        self._leave(f"{reason}; branch {self.count + 1} resumes before turn {turn}")
        await self._open(prefix, self.episode.feedback_level)

    def _leave(self, reason: str) -> None:
        self.episode.end(Ending.ERRORED, reason)

    def back_to(self, turn: int) -> None:
        """Resume from before `turn`, in a new branch with the same feedback level.

        Raises:
            ValueError: the turn was never reached.
        """
        self._portal.call(self._back_to, turn, "the agent went back")

    def fork(self, level: Verbosity) -> Step | None:
        """Resume from the first failed call, in a new branch, as if feedback had been at `level`.

        The turns up to that call are shared; the call's feedback is rewritten for `level`. A branch
        that has ended keeps its ending and its score.

        Returns:
        The result of the forked turn if a limit had cut it off, so that it was taken again; else
        None.

        Raises:
            NoWayBack: no call has failed.
        """
        found = fork(self.episode.trace, level)
        if found is None:
            raise NoWayBack("no call has failed yet")
        self._leave(f"branch {self.count + 1} forks at the first failed call, at {level}")
        self._portal.call(self._open, found.kept, level)
        return None if found.reply is None else self.step(found.reply)

    def step(self, reply: Reply, answer: TypedAnswer | None = None) -> Step:
        """Take a turn. Ctrl-C stops the current call.

        Args:
            reply: the agent's turn.
            answer: answers the calls that wait for the player.

        Raises:
            TakenBack: the turn was stopped, or the sandbox lost the call.
            EpisodeOver: the branch has ended.
            SandboxUnavailable: the sandbox can no longer start a worker.
        """
        scopes: list[anyio.CancelScope] = []
        interrupts: list[object] = []

        async def run() -> Step:
            turn, reason = len(self.episode.trace.replies) + 1, INTERRUPTED
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                if interrupts:
                    scope.cancel()
                try:
                    return await self.episode.step(reply)
                except SandboxFault as fault:
                    reason = f"the sandbox lost the call ({fault})"
            await self._back_to(turn, reason)
            raise TakenBack(reason)

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

    def score(self) -> Verdict:
        """Return the score of the current branch; errored until it ends."""
        return score(self.episode.trace)


@contextmanager
def _on_interrupt(act: Callable[..., None]) -> Iterator[None]:
    """Call `act` on Ctrl-C, as KeyboardInterrupt could be raised while a call is handed over."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals
        return
    before = signal.signal(signal.SIGINT, act)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
