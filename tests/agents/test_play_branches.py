"""Going back and forking: a trace is cut, an episode resumes from it, both branches are kept."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from tests.agents.items import small_item
from tests.canned import CannedSandbox
from toolhop_agents.play.branches import Branches, NoWayBack, TakenBack, Typist, progress
from toolhop_agents.play.game import answer_reply, target_turn
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import WorkUnit
from toolhop_agents.runs.unit import setting as setting_of
from toolhop_env.benchmarks import score
from toolhop_env.episode import Episode
from toolhop_env.feedback import Level
from toolhop_env.limits import EpisodeLimits
from toolhop_env.messages import RawCall, Reply, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.responders import MissingResponder, StandIns
from toolhop_env.runs.catalog import read_trace
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Errored, Score
from toolhop_env.setting import Setting
from toolhop_env.trace import Ended, Ending, Event, FeedbackSet, Trace, from_lines, to_line
from toolhop_sandbox.base import Program
from toolhop_sandbox.errors import SandboxFault
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.model import EpisodeAction, Item, Simulated, Tool, ToolSchema

RESULTS = {"capital": '"Oslo"', "length": "4", "power": "16"}


async def nothing() -> None:
    return


def canned(first: Callable[[], Awaitable[None]] = nothing) -> CannedSandbox:
    """Tools return what a table says; before the first call ends, `first` happens."""
    happens = iter([first])

    async def answer(program: Program, _: Mapping[str, JSON]) -> Outcome:
        for one in happens:
            await one()
        return Returned(RESULTS[program.function])

    return CannedSandbox(answer)


def calling(tool: str, arguments: str) -> Reply:
    return Reply(calls=(RawCall("c", tool, arguments),))


CAPITAL = calling("capital", '{"country": "Norway"}')
LENGTH = calling("length", '{"text": "Oslo"}')
POWER = calling("power", '{"base": 4}')
BAD = calling("power", "{")
ANSWER = Reply("<answer>16</answer>")


def played(*replies: Reply | Level, setting: Setting | None = None) -> Trace:
    """A trace of the small item; a level among the replies sets the feedback."""

    async def run() -> Trace:
        async with Episode(small_item(), canned(), setting) as episode:
            for reply in replies:
                if isinstance(reply, Level):
                    episode.set_feedback(reply)
                else:
                    await episode.step(reply)
            return episode.trace

    return anyio.run(run)


def resumed(
    kept: Trace,
    *replies: Reply,
    setting: Setting | None = None,
    sandbox: CannedSandbox | None = None,
) -> tuple[Trace, list[Event]]:
    async def run() -> tuple[Trace, list[Event]]:
        seen: list[Event] = []
        episode = Episode(
            small_item(),
            sandbox or canned(),
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


def test_an_episode_resumes_without_running_anything_again() -> None:
    whole = played(CAPITAL, BAD, ANSWER)
    sandbox = canned()
    trace, seen = resumed(whole.before_turn(2), LENGTH, POWER, ANSWER, sandbox=sandbox)
    assert len(sandbox.calls) == 2
    assert tuple(seen) == trace.events
    assert trace.events[1:3] == whole.events[1:3]
    assert (trace.started.parent, trace.started.prefix_turns) == (whole.started.episode, 1)
    assert trace.started.episode == "child"
    verdict = score(trace)
    assert isinstance(verdict, Score)
    assert (verdict.value("strict"), verdict.value("hops_solved")) == (1, 1)
    assert verdict.conduct.turns == 4
    assert from_lines(map(to_line, trace.events)) == trace


def test_a_fresh_episode_has_no_parent() -> None:
    started = played().started
    assert (started.parent, started.prefix_turns) == ("", 0)


def test_the_setting_holds_from_the_first_new_turn_on() -> None:
    other = Setting(agent="other", feedback=Level.MINIMAL)
    prompted = Setting(messages=(UserMessage("A prompt."),))
    kept = played(BAD, setting=prompted)
    trace, _ = resumed(kept, BAD, setting=other)
    assert (trace.started.agent, trace.started.feedback) == ("other", "detailed")
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


def test_what_cannot_be_resumed_says_why() -> None:
    whole = played(CAPITAL, ANSWER)
    answered = Trace(tuple(event for event in whole.events if not isinstance(event, Ended)))
    text = Setting(call_format=CallFormat.TEXT)
    for kept, setting, message in (
        (whole, None, r"has ended; before_turn\(3\)"),
        (answered, None, r"last turn answers; before_turn\(2\)"),
        (cut_off(), None, r"was cut off; before_turn\(1\)"),
        (played(CAPITAL), text, "native tool-call format, not text"),
    ):
        with pytest.raises(ValueError, match=message):
            Episode(small_item(), canned(), setting, resume_from=kept)
    with pytest.raises(ValueError, match="another item"):
        Episode(small_item("other"), canned(), resume_from=played())
    resumed(cut_off().before_turn(1), CAPITAL)


# --- views of a trace


def test_progress_counts_what_was_done() -> None:
    now = progress(played(CAPITAL, BAD), EpisodeLimits(turns=3))
    assert (now.turn, now.place, now.calls, now.failed, now.last) == (3, "3/3", 2, 1, True)
    assert [(one.label, one.reached) for one in now.milestones] == [
        ("capital", True),
        ("length", False),
        ("power", False),
    ]
    assert now.reached == 1
    assert progress(played(), EpisodeLimits(turns=None)).place == "1"


def test_steps_back() -> None:
    trace = played(CAPITAL, BAD)
    assert [target_turn(trace, steps) for steps in ("", "1", "2")] == [2, 2, 1]
    for steps in ("3", "0", "-1", "one", "²", "9" * 5000):
        with pytest.raises(NoWayBack):
            target_turn(trace, steps)
    with pytest.raises(NoWayBack, match="no turn has been taken"):
        target_turn(played(), "")


def test_an_answer_is_tagged_once_and_only_where_the_prompt_asks_for_a_tag() -> None:
    asked = played(setting=Setting(messages=(UserMessage("Give <answer>ANSWER</answer>."),)))
    assert answer_reply(asked, "16").content == "<answer>16</answer>"
    assert answer_reply(asked, "so <answer>16</answer>").content == "so <answer>16</answer>"
    assert answer_reply(played(), "16").content == "16"


# --- branches


@contextmanager
def table(
    folder: Path,
    sandbox: CannedSandbox,
    item: Item | None = None,
    typist: Typist | None = None,
    setting: Setting | None = None,
) -> Iterator[Branches]:
    unit = WorkUnit(item or small_item(), "mandatory", 1)
    settings = RunSettings(agent="person", modes=("mandatory",), log_dir=folder)
    store = RunStore.create(folder, "run", {})
    with (
        start_blocking_portal() as portal,
        Branches(
            portal,
            sandbox,
            store,
            unit,
            setting or setting_of(settings, unit),
            typist=typist,
            stand_ins=StandIns(typist, typist),
        ) as branches,
    ):
        yield branches


def test_a_fork_at_the_first_failed_call_reports_it_anew(tmp_path: Path) -> None:
    with table(tmp_path, canned(), setting=Setting(feedback=Level.MINIMAL)) as branches:
        branches.step(CAPITAL)
        with pytest.raises(NoWayBack):
            branches.fork(Level.DETAILED)
        branches.step(BAD)
        branches.step(LENGTH)
        left = branches.episode.trace
        assert branches.fork(Level.DETAILED) is None
        forked = branches.episode.trace
        assert (len(forked.replies), branches.count) == (2, 2)
        assert left.calls[1].feedback == "The call failed."
        assert "are not JSON" in forked.calls[1].feedback
        assert branches.episode.feedback_level is Level.DETAILED
        assert forked.started.parent == left.started.episode
        branches.step(ANSWER)
        assert isinstance(branches.score(), Score)


def test_a_forked_turn_that_a_limit_cut_off_is_taken_again(tmp_path: Path) -> None:
    two = Setting(limits=EpisodeLimits(calls=2))
    with table(tmp_path, canned(), setting=two) as branches:
        branches.step(Reply(calls=CAPITAL.calls + BAD.calls + LENGTH.calls))
        ended = branches.score()
        step = branches.fork(Level.MINIMAL)
        assert step is not None
        assert [call.feedback for call in step.calls] == ['"Oslo"', "The call failed."]
        assert step.ending is Ending.OUT_OF_CALLS
        assert isinstance(ended, Score), "a branch that has ended keeps its score"


def test_a_game_is_left_with_no_lease(tmp_path: Path) -> None:
    sandbox = canned()
    with table(tmp_path, sandbox) as branches:
        branches.step(CAPITAL)
        branches.back_to(1)
        branches.back_to(1)
        assert sandbox.open_sessions == 1
    assert sandbox.open_sessions == 0


def test_going_back_keeps_both_branches(tmp_path: Path) -> None:
    with table(tmp_path, canned()) as branches:
        first = branches.path
        branches.step(CAPITAL)
        branches.step(BAD)
        branches.episode.set_feedback(Level.MINIMAL)
        branches.back_to(2)
        assert branches.episode.feedback_level is Level.MINIMAL
        branches.step(ANSWER)
        second = branches.path
    left, ended = read_trace(first), read_trace(second)
    assert score(left) == Errored("the agent went back; branch 2 resumes before turn 2")
    assert len(left.calls) == 2
    assert (ended.started.parent, ended.started.attempt) == (left.started.episode, 2)
    (counts,) = RunStore(tmp_path / "run").results()
    assert (counts.episode, counts.errored) == (ended.started.episode, "")


async def lose() -> None:
    raise SandboxFault("the worker is gone")


async def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    await anyio.sleep_forever()


@pytest.mark.parametrize(
    ("happens", "reason"),
    [(lose, "the worker is gone"), (interrupt, "the call was interrupted")],
    ids=["lost", "interrupted"],
)
def test_a_call_that_came_to_nothing_is_taken_back(
    tmp_path: Path, happens: Callable[[], Awaitable[None]], reason: str
) -> None:
    with table(tmp_path, canned(happens)) as branches:
        with pytest.raises(TakenBack, match=reason):
            branches.step(CAPITAL)
        assert branches.episode.trace.replies == ()
        (called,) = branches.step(CAPITAL).calls
        assert called.feedback == '"Oslo"'
        assert branches.count == 2


def test_a_kill_leaves_what_was_played(tmp_path: Path) -> None:
    with table(tmp_path, canned()) as branches:
        branches.step(CAPITAL)
        seen = read_trace(branches.path)
    assert [event.kind for event in seen.events] == ["started", "replied", "called"]


# --- tools that no program answers


TEXT: dict[str, JSON] = {"type": "string"}
ASK_USER = Tool(
    ToolSchema("ask", "Ask.", {"type": "object", "properties": {"what": TEXT}}),
    EpisodeAction.ASK_USER,
)
ORACLE = Tool(ToolSchema("oracle", "Knows.", {"type": "object"}), Simulated("You know."))


def asking() -> Item:
    return replace(small_item(), others=(ASK_USER, ORACLE))


def test_whoever_types_answers_for_the_user_and_for_simulated_tools(tmp_path: Path) -> None:
    seen: list[tuple[str, JSON]] = []

    def answer(tool: Tool, arguments: Mapping[str, JSON]) -> str:
        seen.append((tool.name, arguments.get("what")))
        return "42"

    with table(tmp_path, canned(), asking(), Typist()) as branches:
        both = calling("ask", '{"what": "Which?"}').calls + calling("oracle", "{}").calls
        step = branches.step(Reply(calls=(*both, *CAPITAL.calls)), answer)
    assert seen == [("ask", "Which?"), ("oracle", None)]
    assert [call.feedback for call in step.calls] == ['"42"', "42", '"Oslo"']


def test_a_turn_is_taken_back_where_nothing_is_typed(tmp_path: Path) -> None:
    def no_more(*_: object) -> str:
        raise EOFError

    with table(tmp_path, canned(), asking(), Typist()) as branches:
        with pytest.raises(TakenBack, match="interrupted"):
            branches.step(calling("ask", "{}"), no_more)
        assert branches.step(CAPITAL).feedback == ('"Oslo"',)


def test_a_tool_that_nobody_answers_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(MissingResponder, match="'oracle' needs a model"):
        table(tmp_path, canned(), asking()).__enter__()
