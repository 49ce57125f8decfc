from __future__ import annotations

from collections.abc import Mapping

import anyio
import pytest

from tests.canned import CannedSandbox
from tests.env.games import ANSWER, ASK, ITEM, echo, play, said, with_episode
from tests.env.made import calling, raw
from toolhop_env.benchmarks.toolhop.scorer import chain_of
from toolhop_env.episode import Episode
from toolhop_env.feedback import MINIMAL_TEXT, Level
from toolhop_env.messages import (
    AssistantMessage,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
    clean,
)
from toolhop_env.reading import CallFormat
from toolhop_env.setting import Setting
from toolhop_env.trace import (
    Ending,
    Event,
    FeedbackSet,
    Replied,
    Started,
    Trace,
    from_lines,
    to_line,
)
from toolhop_env.verdicts import Call, ErrorCode, Rejected
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Raised, Returned, TimedOut


def test_a_call_and_an_answer() -> None:
    sandbox = said("Oslo")
    steps, trace = play(calling(ASK), ANSWER, sandbox=sandbox)
    assert [step.ending for step in steps] == [None, Ending.ANSWERED]
    assert steps[0].feedback == ('"Oslo"',)
    (call,) = trace.calls
    assert (call.turn, call.hop, call.error, call.raw) == (1, 0, None, ASK)
    assert call.verdict == Call("capital", {"country": "Norway"})
    assert [made for _, made in sandbox.calls] == [{"country": "Norway"}]
    assert [event.kind for event in trace.events] == [
        *("started", "replied", "called", "replied", "ended")
    ]
    assert sandbox.open_sessions == 0


def test_the_trace_says_what_is_played() -> None:
    setting = Setting(agent="p", mode="free", epoch=2, seed=7, attempt=3)
    _, trace = play(ANSWER, setting=setting)
    started = trace.started
    assert (started.agent, started.mode, started.epoch, started.seed) == ("p", "free", 2, 7)
    assert (started.attempt, started.item, started.item_digest) == (3, ITEM.id, ITEM.digest)
    assert started.messages == (UserMessage(ITEM.question),)
    assert started.tools == ("capital", "length", "power")
    gold = chain_of(ITEM)
    assert (started.benchmark, started.gold) == ("toolhop", gold)
    assert isinstance(gold, dict)
    hop = {"tool": "length", "answer": "4", "arguments": {"text": "Oslo"}}
    assert (gold["answer"], gold["hops"][1]) == ("16", hop)  # type: ignore[index]  # a gold is JSON


def test_a_prompt_replaces_the_question() -> None:
    prompt = (SystemMessage("Be brief."), UserMessage("Go."))
    _, trace = play(ANSWER, setting=Setting(messages=prompt))
    assert trace.conversation()[:2] == prompt


def test_parallel_calls_run_one_after_the_other_in_order() -> None:
    under_way, most = 0, 0
    order: list[str] = []

    async def slow(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await anyio.lowlevel.checkpoint()
        order.append(program.function)
        under_way -= 1
        return echo(program, arguments)

    calls = [raw("length", {"text": "x"}, "c1"), raw("power", {"base": 2}, "c2"), ASK]
    steps, trace = play(calling(*calls), sandbox=CannedSandbox(slow))
    assert order == ["length", "power", "capital"]
    assert most == 1
    assert [call.raw for call in trace.calls] == calls
    assert [call.hop for call in trace.calls] == [1, 2, 0]
    shown = [m for m in trace.conversation() if isinstance(m, ToolMessage)]
    assert [message.call_id for message in shown] == ["c1", "c2", "c1"]
    assert steps[0].ending is None


def test_a_rejected_call_runs_nothing_and_is_not_repaired_in_silence() -> None:
    sandbox = said()
    steps, trace = play(calling(raw("capital", "{'country': 'Norway'}")), sandbox=sandbox)
    (call,) = trace.calls
    assert isinstance(call.verdict, Rejected)
    assert (call.error, call.outcome, call.wall_s) == (ErrorCode.NOT_JSON, None, 0.0)
    assert call.verdict.repair is not None
    assert call.verdict.repair.arguments == {"country": "Norway"}
    assert "are not JSON" in steps[0].feedback[0]
    assert not sandbox.calls


def test_a_failed_call_does_not_end_the_episode() -> None:
    sandbox = CannedSandbox([Raised("ValueError", "no"), TimedOut(1.0), Returned('"Oslo"')])
    steps, trace = play(calling(ASK), calling(ASK), calling(ASK), sandbox=sandbox)
    errors = [ErrorCode.RAISED, ErrorCode.TIMED_OUT, None]
    assert [call.error for call in trace.calls] == errors
    assert steps[-1].ending is None


def test_direct_mode_knows_no_tool() -> None:
    sandbox = said()
    steps, trace = play(calling(ASK), sandbox=sandbox, setting=Setting(offer_tools=False))
    assert trace.started.tools == ()
    assert trace.calls[0].error is ErrorCode.UNKNOWN_TOOL
    assert trace.calls[0].hop == 0
    assert steps[0].feedback[0].endswith("The tools are: none: no tools are offered.")
    assert not sandbox.calls


def test_the_text_call_format() -> None:
    setting = Setting(call_format=CallFormat.TEXT)
    text = 'Thought: a\nAction: capital\nAction Input: {"country": "Norway"}'
    steps, trace = play(Reply(text), ANSWER, sandbox=said("Oslo"), setting=setting)
    assert steps[0].feedback == ('"Oslo"',)
    assert trace.calls[0].raw.id == "turn1_call1"
    assert steps[1].ending is Ending.ANSWERED


def test_an_empty_reply_is_an_empty_answer() -> None:
    steps, trace = play(Reply())
    assert steps[0].ending is Ending.ANSWERED
    assert trace.final_text == ""


def test_the_level_can_change_and_the_trace_tells() -> None:
    async def act(episode: Episode) -> None:
        failing = calling(raw("capital", "x"))
        first = await episode.step(failing)
        episode.set_feedback(Level.DETAILED)
        episode.set_feedback(Level.MINIMAL)
        second = await episode.step(failing)
        assert first.feedback[0] != MINIMAL_TEXT
        assert second.feedback == (MINIMAL_TEXT,)
        assert episode.feedback_level is Level.MINIMAL

    trace = with_episode(act)
    assert [event for event in trace.events if isinstance(event, FeedbackSet)] == [
        FeedbackSet(Level.MINIMAL)
    ]
    assert [call.level for call in trace.calls] == [Level.DETAILED, Level.MINIMAL]
    assert len({call.error for call in trace.calls}) == 1


def test_the_sink_gets_every_event_as_it_happens() -> None:
    async def go() -> None:
        taken: list[Event] = []
        async with Episode(ITEM, CannedSandbox(echo), sink=taken.append) as episode:
            assert isinstance(taken[-1], Started)
            await episode.step(calling(ASK))
            assert tuple(taken) == episode.trace.events
            await episode.step(ANSWER)
        assert tuple(taken) == episode.trace.events
        assert from_lines(map(to_line, taken)) == episode.trace

    anyio.run(go)


def test_a_sink_that_fails_is_heard() -> None:
    def full(event: Event) -> None:
        if isinstance(event, Replied):
            raise OSError("no space left")

    async def go() -> None:
        sandbox = CannedSandbox(echo)
        with pytest.raises(OSError, match="no space left"):
            async with Episode(ITEM, sandbox, sink=full) as episode:
                await episode.step(calling(ASK))
        assert (sandbox.open_sessions, sandbox.calls) == (0, [])

    anyio.run(go)


def test_half_pairs_in_a_reply_are_written_out() -> None:
    call = raw("capital\ud800", '{"country": "\udfff"}', "c\ud800")
    reply = Reply("a\ud800b", (call,), model="m\ud800", finish_reason="\ud800")
    _, trace = play(reply)
    kept = trace.replies[0].reply
    assert kept == clean(reply)
    assert (kept.content, kept.model) == ("a\\ud800b", "m\\ud800")
    assert kept.calls[0].arguments == '{"country": "\\udfff"}'
    assert from_lines(map(to_line, trace.events)) == trace


def test_whole_pairs_stay() -> None:
    reply = Reply("😀", (raw("f", '{"a": "😀"}'),))
    assert clean(reply) == reply


WRONG = 'I look it up.\n```json\n{"name": "capital", "arguments": {"country": "Norway"}}\n```'


def test_a_malformed_call_ends_the_episode_and_is_no_answer() -> None:
    _, trace = play(Reply(WRONG))
    assert trace.ended is not None
    assert (trace.ended.ending, trace.ended.reason) == (
        Ending.MALFORMED_CALL,
        "a JSON object in the text: capital",
    )
    assert trace.final_text is None
    assert not trace.calls
    assert trace.conversation()[-1] == AssistantMessage(WRONG)


def test_a_malformed_call_is_answered_where_that_is_asked_for() -> None:
    setting = Setting(answer_malformed=True)
    (step, *_), trace = play(Reply(WRONG), ANSWER, setting=setting)
    (called,) = step.calls
    assert called.error is ErrorCode.MALFORMED_CALL
    assert isinstance(called.verdict, Rejected)
    assert called.verdict.repair is not None
    assert called.verdict.repair.steps == ("json_object",)
    assert called.hop == 0
    # A native conversation has no call to answer by its id.
    assert trace.conversation()[-2] == UserMessage(called.feedback)
    assert "function calling" in called.feedback
    assert trace.ended is not None
    assert trace.ended.ending is Ending.ANSWERED


def test_a_text_call_on_one_line_is_malformed_and_answered() -> None:
    text = 'Action: capital Action Input: {"country": "Norway"}'
    setting = Setting(call_format=CallFormat.TEXT)
    (step, *_), trace = play(Reply(text), ANSWER, setting=setting)
    (called,) = step.calls
    assert called.error is ErrorCode.MALFORMED_CALL
    assert called.verdict.repair.arguments == {"country": "Norway"}  # type: ignore[union-attr]
    assert isinstance(trace.conversation()[-2], ToolMessage)


def test_a_name_that_is_no_tool_stays_unknown() -> None:
    setting = Setting(call_format=CallFormat.TEXT)
    for name in ("capital_v2", "the capital tool", "`capital`"):
        (step, *_), _ = play(Reply(f"Action: {name}\nAction Input: {{}}"), ANSWER, setting=setting)
        assert step.calls[0].error is ErrorCode.UNKNOWN_TOOL


def test_an_episode_resumes_after_a_malformed_call() -> None:
    setting = Setting(answer_malformed=True)
    _, trace = play(Reply(WRONG), ANSWER, setting=setting)

    async def go() -> Trace:
        kept = trace.before_turn(2)
        async with Episode(ITEM, CannedSandbox(echo), setting, resume_from=kept) as episode:
            await episode.step(ANSWER)
        return episode.trace

    assert anyio.run(go).conversation() == trace.conversation()


def test_without_tools_or_in_planning_nothing_is_malformed() -> None:
    for setting in (Setting(offer_tools=False), Setting(single_reply=True)):
        _, trace = play(Reply(WRONG), setting=setting)
        assert trace.final_text == WRONG
