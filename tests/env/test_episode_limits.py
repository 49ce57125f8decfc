from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from tests.canned import CannedSandbox, CannedSession
from tests.env.games import ANSWER, ASK, ITEM, echo, play, said
from tests.env.made import calling, raw
from toolhop_env.episode import Episode
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import Usage
from toolhop_env.setting import Setting
from toolhop_env.trace import (
    Ended,
    Ending,
)
from toolhop_sandbox.base import Program


def limited(**limits: Any) -> Setting:
    return Setting(limits=EpisodeLimits(**limits))


def test_turns_run_out() -> None:
    steps, _ = play(calling(ASK), calling(ASK), setting=limited(turns=2))
    assert [step.ending for step in steps] == [None, Ending.OUT_OF_TURNS]


def test_an_answer_in_the_last_turn_counts() -> None:
    steps, _ = play(calling(ASK), ANSWER, setting=limited(turns=2))
    assert steps[-1].ending is Ending.ANSWERED


def test_calls_beyond_the_limit_are_not_run() -> None:
    sandbox = CannedSandbox(echo)
    steps, trace = play(
        calling(ASK), calling(ASK, ASK, ASK), sandbox=sandbox, setting=limited(calls=3)
    )
    assert [step.ending for step in steps] == [None, Ending.OUT_OF_CALLS]
    assert len(sandbox.calls) == len(trace.calls) == 3
    assert [len(step.calls) for step in steps] == [1, 2]
    assert len(trace.replies[-1].reply.calls) == 3


def test_rejected_calls_count_as_calls() -> None:
    steps, _ = play(calling(raw("capital", "x")), setting=limited(calls=1))
    assert steps[0].ending is Ending.OUT_OF_CALLS


def test_tokens_run_out_after_the_turn_that_used_them() -> None:
    steps, trace = play(
        calling(ASK, usage=Usage(60, 39)),
        calling(ASK, usage=Usage(1, 0)),
        setting=limited(tokens=100),
    )
    assert [step.ending for step in steps] == [None, Ending.OUT_OF_TOKENS]
    assert len(trace.calls) == 2


def test_time_runs_out_by_the_clock_that_was_given() -> None:
    now = 100.0

    async def go() -> None:
        nonlocal now
        setting = limited(time_s=10)
        async with (
            CannedSandbox(echo) as sandbox,
            Episode(ITEM, sandbox, setting, clock=lambda: now) as episode,
        ):
            now += 4
            assert episode.seconds_left == 6
            assert (await episode.step(calling(ASK))).ending is None
            now += 7
            assert episode.seconds_left == 0
            assert (await episode.step(calling(ASK))).ending is Ending.OUT_OF_TIME
            assert episode.trace.ended == Ended(Ending.OUT_OF_TIME, 11.0)

    anyio.run(go)


def test_waiting_for_a_session_is_not_the_agents_time() -> None:
    now = 0.0

    class Busy(CannedSandbox):
        @asynccontextmanager
        async def session(self, programs: Sequence[Program] = ()) -> AsyncIterator[CannedSession]:
            nonlocal now
            now += 1000
            async with super().session(programs) as session:
                yield session

    async def go() -> None:
        setting = limited(time_s=10)
        async with Episode(ITEM, Busy(echo), setting, clock=lambda: now) as episode:
            assert episode.seconds_left == 10
            await episode.step(ANSWER)
            assert episode.trace.ended == Ended(Ending.ANSWERED, 0.0)

    anyio.run(go)


def test_without_a_time_limit_there_is_no_time_left_to_tell() -> None:
    assert Episode(ITEM, said()).seconds_left is None


@pytest.mark.parametrize("name", ["turns", "calls", "tokens", "time_s"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_limit_of_nothing_is_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}; it must be more than 0, or None"):
        limited(**{name: value})
