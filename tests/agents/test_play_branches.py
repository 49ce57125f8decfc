from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from agents.play.branches import Branches, TakenBack
from agents.play.state import NoSuchTurn, answer_reply, standing, taken, target_turn
from agents.runs.settings import RunSettings
from agents.runs.store import RunStore, read_trace
from env.episode import Episode, Setting
from env.feedback import Level
from env.limits import EpisodeLimits
from env.messages import RawCall, Reply, UserMessage
from env.reading import Dialect
from env.score import Score, Void, score
from env.trace import Ended, Ending, Event, FeedbackSet, Trace, from_lines, to_line
from sandbox.base import Program, Session
from sandbox.errors import SandboxFault
from sandbox.outcome import JSON, Outcome, Returned
from tests.agents.items import small_item

RESULTS = {"capital": '"Oslo"', "length": "4", "power": "16"}


class Canned:
    """A sandbox whose tools return what a table says; on `fault` it does something else once."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.calls = 0

    @property
    def description(self) -> Mapping[str, JSON]:
        return {"kind": "canned"}

    async def call(self, program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        self.calls += 1
        fault, self.fault = self.fault, ""
        if fault == "lost":
            raise SandboxFault("the worker is gone")
        if fault == "interrupted":
            os.kill(os.getpid(), signal.SIGINT)
            await anyio.sleep_forever()
        return Returned(RESULTS[program.function])

    @asynccontextmanager
    async def session(self, programs: Sequence[Program] = ()) -> AsyncIterator[Session]:
        yield self

    async def __aenter__(self) -> Canned:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None


def calling(tool: str, arguments: str) -> Reply:
    return Reply(calls=(RawCall("c", tool, arguments),))


CAPITAL = calling("capital", '{"country": "Norway"}')
LENGTH = calling("length", '{"text": "Oslo"}')
POWER = calling("power", '{"base": 4}')
BAD = calling("power", "{")
ANSWER = answer_reply("16", 0)


def played(*replies: Reply | Level, setting: Setting | None = None) -> Trace:
    """A trace of the small item; a level among the replies sets the feedback."""

    async def run() -> Trace:
        async with Episode(small_item(), Canned(), setting) as episode:
            for reply in replies:
                if isinstance(reply, Level):
                    episode.set_feedback(reply)
                else:
                    await episode.step(reply)
            return episode.trace

    return anyio.run(run)


def resumed(
    kept: Trace, *replies: Reply, setting: Setting | None = None, sandbox: Canned | None = None
) -> tuple[Trace, list[Event]]:
    async def run() -> tuple[Trace, list[Event]]:
        seen: list[Event] = []
        episode = Episode(
            small_item(),
            sandbox or Canned(),
            setting,
            name="child",
            sink=seen.append,
            resume_from=kept,
        )
        async with episode:
            for reply in replies:
                await episode.step(reply)
        return episode.trace, seen

    return anyio.run(run)


# --- Trace.before_turn


def test_a_trace_is_cut_before_a_turn() -> None:
    whole = played(CAPITAL, Level.MINIMAL, BAD, LENGTH, ANSWER)
    assert whole.ended is not None
    for turn in range(1, 6):
        cut = whole.before_turn(turn)
        assert len(cut.replies) == turn - 1
        assert cut.ended is None
        assert whole.events[: len(cut.events)] == cut.events
    assert whole.before_turn(5).events == whole.events[:-1]
    assert whole.before_turn(5).before_turn(5) == whole.before_turn(5)


def test_settings_made_before_a_turn_are_kept() -> None:
    whole = played(CAPITAL, Level.MINIMAL, BAD)
    assert isinstance(whole.before_turn(2).events[-1], FeedbackSet)
    assert [whole.before_turn(turn).level for turn in (1, 2, 3)] == ["detailed"] + ["minimal"] * 2


@pytest.mark.parametrize("turn", [-1, 0, 3])
def test_turns_that_were_not_reached_cannot_be_cut(turn: int) -> None:
    with pytest.raises(ValueError, match="it must be from 1 to 2"):
        played(CAPITAL).before_turn(turn)


# --- Episode(resume_from=...)


def test_an_episode_goes_on_without_running_anything_again() -> None:
    whole = played(CAPITAL, BAD, ANSWER)
    sandbox = Canned()
    trace, seen = resumed(whole.before_turn(2), LENGTH, POWER, ANSWER, sandbox=sandbox)
    assert sandbox.calls == 2
    assert tuple(seen) == trace.events
    assert trace.events[1:3] == whole.events[1:3]
    assert (trace.started.parent, trace.started.kept_turns) == (whole.started.episode, 1)
    assert trace.started.episode == "child"
    verdict = score(trace)
    assert isinstance(verdict, Score)
    assert (verdict.strict, verdict.hops_solved, verdict.turns) == (True, 3, 4)
    assert from_lines(map(to_line, trace.events)) == trace


def test_a_fresh_episode_has_no_parent() -> None:
    started = played().started
    assert (started.parent, started.kept_turns) == ("", 0)


def test_the_setting_holds_from_the_first_new_turn_on() -> None:
    other = Setting(player="other", feedback=Level.MINIMAL)
    prompted = Setting(messages=(UserMessage("A prompt."),))
    kept = played(BAD, setting=prompted)
    trace, _ = resumed(kept, BAD, setting=other)
    assert (trace.started.player, trace.started.feedback) == ("other", "detailed")
    assert trace.started.messages == prompted.messages
    assert [call.level for call in trace.calls] == ["detailed", "minimal"]
    assert resumed(kept, setting=prompted)[0].events[1:] == kept.events[1:]


def test_limits_count_the_turns_that_were_kept() -> None:
    kept = played(CAPITAL, LENGTH)
    two = Setting(limits=EpisodeLimits(turns=2))
    three = Setting(limits=EpisodeLimits(turns=3))
    for setting, replies in ((two, ()), (three, (POWER,))):
        trace, _ = resumed(kept, *replies, setting=setting)
        assert trace.ended is not None
        assert trace.ended.ending is Ending.OUT_OF_TURNS


def cut_off() -> Trace:
    """Cut by a crash, between a turn's two calls."""
    both = Reply(calls=CAPITAL.calls + LENGTH.calls)
    return Trace(played(both).events[:-1])


def test_what_cannot_be_gone_on_from_says_why() -> None:
    whole = played(CAPITAL, ANSWER)
    answered = Trace(tuple(event for event in whole.events if not isinstance(event, Ended)))
    text = Setting(dialect=Dialect.TEXT)
    for kept, setting, message in (
        (whole, None, r"has ended; before_turn\(3\)"),
        (answered, None, r"last turn answers; before_turn\(2\)"),
        (cut_off(), None, r"was cut off; before_turn\(1\)"),
        (played(CAPITAL), text, "native dialect, not text"),
    ):
        with pytest.raises(ValueError, match=message):
            Episode(small_item(), Canned(), setting, resume_from=kept)
    with pytest.raises(ValueError, match="another item"):
        Episode(small_item("other"), Canned(), resume_from=played())
    resumed(cut_off().before_turn(1), CAPITAL)


# --- views of a trace


def test_the_standing_counts_what_was_done() -> None:
    now = standing(played(CAPITAL, BAD), EpisodeLimits(turns=3))
    assert (now.turn, now.place, now.calls, now.failed, now.last) == (3, "3/3", 2, 1, True)
    assert now.solved == (True, False, False)
    assert standing(played(), EpisodeLimits(turns=None)).place == "1"


def test_turns_are_listed_with_their_calls() -> None:
    both = Reply(calls=CAPITAL.calls + BAD.calls)
    first, second = taken(played(both, ANSWER))
    assert [call.error for call in first.calls] == [None, "not_json"]
    assert (first.answer, second.answer) == (None, "<answer>16</answer>")


def test_steps_back() -> None:
    trace = played(CAPITAL, BAD)
    assert [target_turn(trace, steps) for steps in ("", "1", "2")] == [2, 2, 1]
    for steps in ("3", "0", "-1", "one", "²", "9" * 5000):
        with pytest.raises(NoSuchTurn):
            target_turn(trace, steps)
    with pytest.raises(NoSuchTurn, match="no turn has been taken"):
        target_turn(played(), "")


def test_an_answer_is_tagged_once() -> None:
    assert answer_reply("16", 0).content == "<answer>16</answer>"
    assert answer_reply("so <answer>16</answer>", 0).content == "so <answer>16</answer>"


# --- branches


@contextmanager
def table(folder: Path, sandbox: Canned) -> Iterator[Branches]:
    store = RunStore.create(folder, "run", {})
    settings = RunSettings(agent="person", log_dir=folder)
    with (
        start_blocking_portal() as portal,
        Branches(small_item(), settings, sandbox, store, portal) as branches,
    ):
        yield branches


def test_going_back_keeps_both_branches(tmp_path: Path) -> None:
    with table(tmp_path, Canned()) as branches:
        first = branches.path
        branches.step(CAPITAL)
        branches.step(BAD)
        branches.episode.set_feedback(Level.MINIMAL)
        branches.back_to(2, "the player went back")
        assert branches.episode.feedback_level is Level.MINIMAL
        branches.step(ANSWER)
        second = branches.path
    left, ended = read_trace(first), read_trace(second)
    assert score(left) == Void("the player went back; attempt 2 goes on before turn 2")
    assert len(left.calls) == 2
    assert (ended.started.parent, ended.started.attempt) == (left.started.episode, 2)
    assert isinstance(score(ended), Score)
    assert len(list(branches.store.traces())) == branches.count == 2


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("lost", "the worker is gone"), ("interrupted", "the call was interrupted")],
)
def test_a_call_that_came_to_nothing_is_taken_back(tmp_path: Path, fault: str, reason: str) -> None:
    with table(tmp_path, Canned(fault)) as branches:
        with pytest.raises(TakenBack, match=reason):
            branches.step(CAPITAL)
        assert branches.episode.trace.replies == ()
        (called,) = branches.step(CAPITAL).calls
        assert called.feedback == '"Oslo"'
        assert branches.count == 2


def test_a_kill_leaves_what_was_played(tmp_path: Path) -> None:
    with table(tmp_path, Canned()) as branches:
        branches.step(CAPITAL)
        seen = read_trace(branches.path)
    assert [event.kind for event in seen.events] == ["started", "replied", "called"]
