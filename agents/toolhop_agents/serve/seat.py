"""A seat at an episode, without a screen: step, back, fork, feedback level, score.

Going back and forking leave the branch in play and open another one: an attempt of its own, with
a trace that holds the whole way from the first turn. Turns that are shared are not run again. The
branch that is left ends as errored, with the reason, so that the branch that was played to its end
is the attempt that counts; the new one's `started` event names it as its parent.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from dataclasses import replace

from toolhop_agents.serve.state import EpisodeProgress, progress
from toolhop_env.benchmarks import score
from toolhop_env.episode import Episode, Sink, Step
from toolhop_env.fork import fork
from toolhop_env.levels import Verbosity
from toolhop_env.messages import Reply
from toolhop_env.responders import StandIns
from toolhop_env.score import Verdict
from toolhop_env.setting import Setting
from toolhop_env.trace import Ending, Event, Trace
from toolhop_sandbox.base import Sandbox
from toolhop_sandbox.errors import SandboxFault
from toolhop_tools.model import Item


class TakenBack(Exception):
    """A turn came to nothing, for the reason given, and was taken back."""


class NothingFailed(ValueError):
    """No call has failed yet, so that there is nothing to fork at."""


def _nowhere(_: str) -> AbstractContextManager[Sink]:
    def drop(_: Event) -> None:
        return None

    return nullcontext(drop)


class Seat:
    """One item in play, by whoever sits here. Enter it with `async with`."""

    def __init__(
        self,
        item: Item,
        sandbox: Sandbox,
        setting: Setting | None = None,
        *,
        sink: Callable[[str], AbstractContextManager[Sink]] = _nowhere,
        name: Callable[[int], str] | None = None,
        stand_ins: StandIns | None = None,
        resume_from: Trace | None = None,
    ) -> None:
        """Prepare a seat; nothing runs before it is entered.

        Args:
            item: what is played.
            sandbox: an entered sandbox; one session of it is leased at a time.
            setting: of the first branch. The next ones have its attempt number and one more, and
                the feedback level that was in force.
            sink: where the events of a branch go, by its name; nowhere if not given.
            name: a branch's name by its number from 1.
            stand_ins: who answers tools that are simulated, and questions to the user.
            resume_from: whole turns of an earlier game, which the first branch begins with.
        """
        self._item, self._sandbox = item, sandbox
        self._setting = setting or Setting()
        self._sink = sink
        self._name = name or (lambda branch: f"{item.id}_{branch}")
        self._stand_ins = stand_ins
        self._resume_from = resume_from
        self._leases = AsyncExitStack()
        self._episode: Episode | None = None
        self.branches = 0
        """Branches so far, the one in play included."""

    @property
    def episode(self) -> Episode:
        """The branch in play."""
        if self._episode is None:
            raise RuntimeError("no branch is open: enter the seat with `async with` first")
        return self._episode

    @property
    def trace(self) -> Trace:
        """Everything so far, of the branch in play."""
        return self.episode.trace

    @property
    def progress(self) -> EpisodeProgress:
        """How far the branch in play is."""
        return progress(self.trace, self.episode.setting.limits)

    async def __aenter__(self) -> Seat:
        """Open the first branch.

        Raises:
            SandboxError: no worker can be had.
            MissingResponder: a tool needs a stand-in that is not given.
        """
        await self._open(self._resume_from, self._setting.feedback)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._leases.aclose()

    async def _open(self, prefix: Trace | None, level: Verbosity) -> None:
        await self._leases.aclose()
        attempt = self._setting.attempt + self.branches
        self.branches += 1
        name = self._name(self.branches)
        self._episode = Episode(
            self._item,
            self._sandbox,
            replace(self._setting, feedback=level, attempt=attempt),
            sink=self._leases.enter_context(self._sink(name)),
            name=name,
            resume_from=prefix,
            stand_ins=self._stand_ins,
        )
        await self._leases.enter_async_context(self._episode)

    async def step(self, reply: Reply) -> Step:
        """Take a turn.

        Raises:
            TakenBack: the sandbox lost the call.
            EpisodeOver: the branch has ended.
            SandboxUnavailable: the sandbox can start no worker any more.
        """
        turn = len(self.trace.replies) + 1
        try:
            return await self.episode.step(reply)
        except SandboxFault as fault:
            reason = f"the sandbox lost the call ({fault})"
        await self.back_to(turn, reason)
        raise TakenBack(reason)

    async def back_to(self, turn: int, reason: str = "the agent went back") -> None:
        """Resume from before `turn`, in a branch of its own. The feedback level stays as it is.

        Raises:
            ValueError: no such turn was reached.
        """
        prefix = self.trace.before_turn(turn)
        self._leave(f"{reason}; branch {self.branches + 1} resumes before turn {turn}")
        await self._open(prefix, self.episode.feedback_level)

    async def fork(self, level: Verbosity) -> Step | None:
        """Resume from the first failed call, in a branch of its own, as if under `level`.

        The turns up to that call are shared; what was reported of it reads as under `level`. A
        branch that has ended keeps its end, and its score.

        Returns:
            What the forked turn led to where a limit had cut it off, so that it was taken again.

        Raises:
            NothingFailed: no call has failed.
        """
        found = fork(self.trace, level)
        if found is None:
            raise NothingFailed("no call has failed yet")
        self._leave(f"branch {self.branches + 1} forks at the first failed call, at {level}")
        await self._open(found.kept, level)
        return None if found.reply is None else await self.step(found.reply)

    def _leave(self, reason: str) -> None:
        self.episode.end(Ending.ERRORED, reason)

    def set_feedback(self, level: Verbosity) -> None:
        """Change how much feedback says of failed calls, from here on."""
        self.episode.set_feedback(level)

    def stop(self) -> None:
        """Leave without an answer."""
        self.episode.end(Ending.STOPPED)

    def score(self) -> Verdict:
        """The score of the branch in play; errored while it goes on."""
        return score(self.trace)
