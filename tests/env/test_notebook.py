from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

import pytest

from tests.agents.items import small_item
from tests.canned import CannedSandbox
from tests.env.made import calling, raw
from toolhop_env.episode import EpisodeOver
from toolhop_env.messages import Reply
from toolhop_env.notebook import play
from toolhop_env.score import Errored, Score
from toolhop_env.setting import Setting
from toolhop_env.trace import Ending
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_sandbox.pool import PooledSandbox
from toolhop_sandbox.process import ProcessLauncher

ITEM = small_item()


def echo(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
    return Returned(json.dumps(dict(arguments)))


def play_through() -> Score | Errored:
    with play(ITEM, sandbox=PooledSandbox(ProcessLauncher(), max_workers=1)) as episode:
        assert episode.question == ITEM.question
        assert [tool.name for tool in episode.tools] == ["capital", "length", "power"]
        assert episode.call("capital", country="Norway").feedback == ('"Oslo"',)
        assert episode.call("length", text="Oslo").feedback == ("4",)
        assert isinstance(episode.score(), Errored)
        assert episode.call("power", base=4).feedback == ("16",)
        return episode.answer(16)


def test_an_item_is_played_in_the_process_sandbox_under_a_running_loop() -> None:
    async def cell() -> Score | Errored:
        return play_through()

    verdict = asyncio.run(cell())
    assert isinstance(verdict, Score)
    assert (verdict.values["strict"], verdict.values["chain"]) == ((1, 1), (3, 3))
    assert verdict.conduct.failed_calls == 0


def test_leaving_stops_the_episode() -> None:
    with play(ITEM, sandbox=CannedSandbox(echo)) as episode:
        step = episode.step(calling(raw("power", {"base": 1}), raw("power", {"base": 2})))
        assert step.feedback == ('{"base": 1}', '{"base": 2}')
        assert episode.ending is None
    assert episode.ending is Ending.STOPPED
    assert len(episode.trace.calls) == 2


def test_an_answer_is_the_end() -> None:
    with play(ITEM, Setting(agent="me"), sandbox=CannedSandbox(echo)) as episode:
        assert isinstance(episode.answer("no idea"), Score)
        with pytest.raises(EpisodeOver):
            episode.step(Reply("16"))
    assert episode.ending is Ending.ANSWERED
    assert episode.trace.started.agent == "me"


def test_arguments_may_have_the_names_of_the_methods_own() -> None:
    with play(ITEM, sandbox=CannedSandbox(echo)) as episode:
        step = episode.call("power", base=2, tool=1, self=2)
    assert "takes no argument `tool`" in step.feedback[0]


def test_an_error_in_the_cell_is_the_users() -> None:
    sandbox = CannedSandbox(echo)
    with pytest.raises(ZeroDivisionError), play(ITEM, sandbox=sandbox):
        raise ZeroDivisionError
    assert sandbox.open_sessions == 0
