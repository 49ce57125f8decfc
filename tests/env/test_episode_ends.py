from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import anyio
import anyio.lowlevel
import pytest

from tests.canned import CannedSandbox
from tests.env.games import ANSWER, ASK, ITEM, echo, said, with_episode
from tests.env.made import calling
from toolhop_env.episode import Episode, EpisodeOver
from toolhop_env.feedback import Level
from toolhop_env.trace import (
    Ending,
    Trace,
)
from toolhop_sandbox.base import Program
from toolhop_sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_sandbox.outcome import JSON, Outcome


def test_an_ended_episode_takes_no_reply() -> None:
    async def act(episode: Episode) -> None:
        await episode.step(ANSWER)
        with pytest.raises(EpisodeOver, match=r"ended \(answered\)"):
            await episode.step(ANSWER)

    assert len(with_episode(act).replies) == 1


def test_an_episode_that_was_not_entered_takes_no_reply() -> None:
    async def go() -> None:
        with pytest.raises(EpisodeOver, match="not been entered"):
            await Episode(ITEM, said()).step(ANSWER)

    anyio.run(go)


def test_the_first_ending_stays() -> None:
    async def act(episode: Episode) -> None:
        episode.end(Ending.STOPPED, "enough")
        episode.end(Ending.ERRORED, "later")
        assert episode.ending is Ending.STOPPED

    ended = with_episode(act).ended
    assert ended is not None
    assert (ended.ending, ended.reason) == (Ending.STOPPED, "enough")


def test_ending_before_the_beginning_is_nothing() -> None:
    episode = Episode(ITEM, said())
    episode.end(Ending.STOPPED)
    assert episode.trace == Trace()


def test_no_session_is_errored() -> None:
    class Full(CannedSandbox):
        def session(self, programs: Sequence[Program] = ()) -> NoReturn:
            raise SandboxUnavailable("no engine", fix="start it")

    async def go() -> None:
        episode = Episode(ITEM, Full(echo))
        with pytest.raises(SandboxUnavailable):
            await episode.__aenter__()
        ended = episode.trace.ended
        assert ended is not None
        assert ended.ending is Ending.ERRORED
        assert "no engine" in ended.reason

    anyio.run(go)


def test_a_sandbox_that_breaks_under_a_call_is_not_the_tools_failure() -> None:
    def broken(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        raise SandboxFault("the worker is gone")

    async def act(episode: Episode) -> None:
        with pytest.raises(SandboxFault):
            await episode.step(calling(ASK))
        assert episode.ending is None

    assert with_episode(act, CannedSandbox(broken)).calls == ()


def test_a_canned_sandbox_has_no_more_than_it_was_given() -> None:
    async def act(episode: Episode) -> None:
        await episode.step(calling(ASK))
        with pytest.raises(SandboxFault, match="no outcome is left for call 2"):
            await episode.step(calling(ASK))

    with_episode(act, said("Oslo"))


def test_a_cancelled_call_leaves_an_episode_that_can_be_ended() -> None:
    async def stuck(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        await anyio.sleep_forever()
        return echo(program, arguments)

    async def act(episode: Episode) -> None:
        with anyio.move_on_after(0) as scope:
            await episode.step(calling(ASK))
        assert scope.cancelled_caught
        episode.end(Ending.OUT_OF_TIME)

    trace = with_episode(act, CannedSandbox(stuck))
    assert [event.kind for event in trace.events] == ["started", "replied", "ended"]


def test_leaving_by_an_exception_gives_the_session_back() -> None:
    sandbox = CannedSandbox(echo)

    async def act(_: Episode) -> None:
        assert sandbox.open_sessions == 1
        raise KeyError

    with pytest.raises(KeyError):
        with_episode(act, sandbox)
    assert sandbox.open_sessions == 0


def test_ended_by_another_task_under_a_call_it_stays_ended() -> None:
    """No event follows the end: the result that comes later is in no trace."""

    async def slow(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        await anyio.lowlevel.checkpoint()
        return echo(program, arguments)

    async def act(episode: Episode) -> None:
        async def step() -> None:
            with pytest.raises(EpisodeOver, match=r"ended \(stopped\) while a call was under way"):
                await episode.step(calling(ASK, ASK))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(step)
            while not sandbox.calls:
                await anyio.lowlevel.checkpoint()
            episode.end(Ending.STOPPED)

    sandbox = CannedSandbox(slow)
    trace = with_episode(act, sandbox)
    assert (trace.ended is not None, len(trace.calls), len(sandbox.calls)) == (True, 0, 1)


def test_a_feedback_level_set_after_the_end_is_no_event() -> None:
    async def act(episode: Episode) -> None:
        await episode.step(ANSWER)
        episode.set_feedback(Level.MINIMAL)
        assert episode.feedback_level is Level.MINIMAL

    assert with_episode(act).ended is not None
