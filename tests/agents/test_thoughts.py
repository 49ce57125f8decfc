"""Reasoning models: their thoughts are kept, sent back as they came, and never read."""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.agents.thinking_servers import (
    FORMS,
    THOUGHT_TOKENS,
    Anthropic,
    Body,
    Gemini,
    OwnProtocol,
    Refused,
    Responses,
    thinking,
    thought,
)
from tests.launcher import SERVED, Launched
from tests.waiting import CEILING_S
from toolhop_agents.models.exchange import Api
from toolhop_agents.models.loopback import LoopbackServer, Request, RequestResponder
from toolhop_agents.models.strict_schemas import strict_problem
from toolhop_agents.models.wire_reading import Unreadable, reply_from_wire
from toolhop_agents.models.wire_sending import messages_to_wire
from toolhop_agents.models.wire_stream import assembled
from toolhop_agents.runs.parameters import request_parameters
from toolhop_agents.runs.resume import Prefix, kept
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import responder
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    RawCall,
    ReasoningHistory,
    Reply,
    Thoughts,
    Usage,
    UserMessage,
    remembered,
)
from toolhop_env.reading import CallFormat, read_calls
from toolhop_env.runs.store import RunStore
from toolhop_env.setting import Setting, check_resumable
from toolhop_env.trace import Ending, Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.load import load

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

OWN: dict[str, type[OwnProtocol]] = {
    "anthropic/claude-sonnet-4-5": Anthropic,
    "gemini/gemini-2.5-pro": Gemini,
}


def scripted(agent: str = "oracle") -> RequestResponder:
    return responder(load("builtin"), choose(agent), 0)


def environment() -> dict[str, str]:
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TOOLHOP")}
    return {**kept, **dict.fromkeys(keys, "none")}


def run(log_dir: Path, model: str, base_url: str, *flags: str) -> dict[str, Any]:
    given = ("--model", model, "--base-url", base_url, "--log-dir", str(log_dir))
    return ran(*given, "--sandbox", "process", *flags)


def ran(*flags: str) -> dict[str, Any]:
    done = toolhop("run", *flags, "--json", env=environment())
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def traces(answer: dict[str, Any]) -> list[Trace]:
    return list(RunStore.open(Path(answer["run"])).traces())


def assert_all_right(answer: dict[str, Any], episodes: int) -> None:
    (summary,) = answer["summaries"]
    assert (summary["errored"], summary["strict"]["value"]) == (0, 1.0)
    assert summary["episodes"] == episodes


@pytest.mark.parametrize("form", FORMS)
def test_a_server_that_checks_its_thoughts_gets_them_back(form: str, tmp_path: Path) -> None:
    items = load("builtin").items
    with LoopbackServer(thinking(scripted(), form)) as server:
        answer = run(tmp_path, "openai/thinker", server.base_url)
        assert not server.errors
    assert_all_right(answer, len(items))
    played = traces(answer)
    used = [replied.reply.usage.reasoning_tokens for one in played for replied in one.replies]
    assert set(used) == {THOUGHT_TOKENS}


@pytest.mark.parametrize("model", OWN)
def test_a_provider_with_a_protocol_of_its_own_gets_its_thoughts_back(
    model: str, tmp_path: Path
) -> None:
    with OWN[model](scripted()) as server:
        answer = run(tmp_path, model, server.base_url)
        assert not server.refusals
    assert_all_right(answer, len(load("builtin").items))
    for one in traces(answer):
        for replied in one.replies:
            assert replied.reply.thoughts is not None


@pytest.mark.parametrize("form", FORMS)
def test_a_stream_is_put_together(form: str, tmp_path: Path) -> None:
    with LoopbackServer(thinking(scripted(), form)) as server:
        flags = ("--stream", "on", "--limit", "6")
        answer = run(tmp_path, "openai/thinker", server.base_url, *flags)
        assert not server.errors
    assert_all_right(answer, 6)
    whole = [one.replies for one in traces(answer)]
    assert {replied.reply.usage.reasoning_tokens for one in whole for replied in one} == {
        THOUGHT_TOKENS
    }


@pytest.mark.parametrize("model", [*OWN, "openai/thinker"])
def test_a_stream_of_a_protocol_of_its_own_is_put_together(model: str, tmp_path: Path) -> None:
    api = () if model in OWN else ("--api", "responses")
    flags: tuple[str, ...] = ("--stream", "on", "--limit", "6", *api)
    with OWN.get(model, Responses)(scripted()) as server:
        whole = run(tmp_path / "whole", model, server.base_url, *flags[2:])
        answer = run(tmp_path / "streamed", model, server.base_url, *flags)
        assert not server.refusals
        assert server.streams == server.requests / 2
    assert_all_right(answer, 6)
    assert [used(one) for one in traces(answer)] == [used(one) for one in traces(whole)]
    assert all(told(one)[0] for one in traces(answer))


def used(trace: Trace) -> list[Usage]:
    return [replied.reply.usage for replied in trace.replies]


def test_a_stream_through_litellm_is_put_together(tmp_path: Path) -> None:
    with LoopbackServer(thinking(scripted(), "deepseek")) as server:
        flags = ("--stream", "on", "--limit", "6", "--price", "1,2")
        answer = run(tmp_path, "deepseek/deepseek-reasoner", server.base_url, *flags)
        assert not server.errors
    assert_all_right(answer, 6)
    for one in traces(answer):
        for usage in used(one):
            assert (usage.input_tokens, usage.output_tokens) == (10, 20)
            assert usage.reasoning_tokens == THOUGHT_TOKENS
            assert usage.cost_usd == pytest.approx((10 * 1 + 20 * 2) / 1e6)  # and no other price


STREAMED = """: a comment
data: {"id": "1", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
data: {"choices": [{"index": 0, "delta": {"reasoning": "Why ", "reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "Why "}]}}]}
data: {"choices": [{"index": 0, "delta": {"reasoning": "not?", "reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "not?", "signature": "s"}]}}]}
data: {"choices": [{"index": 0, "delta": {"reasoning_details": [{"index": 0, "type": "reasoning.encrypted", "data": "abc"}]}}]}
data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}}]}
data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{\\"x\\""}}]}}]}
data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}}]}
data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 2}}}
data: [DONE]
"""  # noqa: E501 -- each event is a line


def test_pieces_are_joined_where_they_belong() -> None:
    reply = reply_from_wire(assembled(STREAMED))
    assert reply.calls == (RawCall("a", "f", '{"x": 1}'), RawCall("b", "g", "{}"))
    assert reply.thoughts == Thoughts(
        "Why not?",
        {
            "reasoning": "Why not?",
            "reasoning_details": [
                {"index": 0, "type": "reasoning.text", "text": "Why not?", "signature": "s"},
                {"index": 0, "type": "reasoning.encrypted", "data": "abc"},
            ],
        },
    )
    assert (reply.usage.input_tokens, reply.usage.reasoning_tokens) == (3, 2)
    with pytest.raises(Unreadable, match="ends before"):
        assembled(STREAMED.partition('data: {"choices": [{"index": 0, "delta": {}')[0])


def stream(*deltas: Body, finish_reason: str | None = "stop") -> str:
    """A stream of pieces as a server writes it that escapes nothing."""
    choices: list[Body] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices += [{"index": 0, "delta": {}, "finish_reason": finish_reason}]
    events = [json.dumps({"choices": [one]}, ensure_ascii=False) for one in choices]
    return "".join(f"data: {event}\r\n\r\n" for event in events)


def test_ends_of_lines_that_json_may_hold_end_no_event() -> None:
    text = "one\u2028two\u2029three\u0085four"
    reply = reply_from_wire(assembled(stream({"reasoning": text}, {"content": text})))
    assert (reply.content, reply.thoughts) == (text, Thoughts(text, {"reasoning": text}))


def test_calls_of_one_index_are_told_apart_by_their_ids() -> None:
    def call(name: str, **beside: JSON) -> Body:
        function = {"name": name, "arguments": f'{{"{name}": 1}}'}
        return {"index": 0, "id": name, "type": "function", "function": function, **beside}

    signed: JSON = {"google": {"thought_signature": "s"}}
    pieces = ([call("f", extra_content=signed)], [call("g"), call("h")],
              [{"index": 0, "function": {"arguments": " "}}])  # fmt: skip
    read = reply_from_wire(assembled(stream(*({"tool_calls": piece} for piece in pieces))))
    told = [("f", '{"f": 1}'), ("g", '{"g": 1}'), ("h", '{"h": 1} ')]
    assert read.calls == tuple(RawCall(name, name, text) for name, text in told)
    assert read.thoughts == Thoughts("", {}, ({"extra_content": signed}, {}, {}))


def test_texts_and_lists_of_parts_are_joined() -> None:
    def thinks(text: str) -> Body:
        return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}

    pieces: list[Body] = [{"content": ""}, thinks("a"), thinks("b"), {"content": "It is "},
                          thinks("c"), {"content": "6"}, {"content": "."}]  # fmt: skip
    assert reply_from_wire(assembled(stream(*pieces))).content == "It is 6."
    details: list[Body] = [
        {"reasoning_details": [{"type": "reasoning.text", **part}]}
        for part in ({"text": "a"}, {"text": "b"}, {"signature": "s"}, {"text": "c"})
    ]
    thoughts = reply_from_wire(assembled(stream(*details))).thoughts
    assert thoughts is not None
    assert thoughts.fields["reasoning_details"] == [
        {"type": "reasoning.text", "text": "ab", "signature": "s"},
        {"type": "reasoning.text", "text": "c"},
    ]


def test_an_error_within_a_stream_says_what_it_is() -> None:
    said = 'event: error\ndata: {"type": "error", "code": "server_error", "message": "broke"}\n\n'
    with pytest.raises(Unreadable, match="broke"):
        reply_from_wire(assembled(said))


@pytest.mark.parametrize(
    "event",
    ['{"choices": [null]}', '{"choices": 1}', '{"usage": [1]}', '{"choices": [{"delta": "x"}]}',
     '{"choices": [{"delta": {"tool_calls": "f"}, "finish_reason": "stop"}]}'],
)  # fmt: skip
def test_an_event_of_another_shape_is_no_reply(event: str) -> None:
    with pytest.raises(Unreadable, match="another shape"):
        assembled(f"data: {event}\n\n")


def test_a_call_whose_thought_is_empty_gets_its_field_back() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said: Body = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "",
        "tool_calls": [call],
    }
    reply = reply_from_wire({"choices": [{"message": said, "finish_reason": "tool_calls"}]})
    (back,) = messages_to_wire([AssistantMessage(reply.content, reply.calls, reply.thoughts)])
    assert back == said
    alone = {"role": "assistant", "content": "6", "reasoning_content": ""}
    assert reply_from_wire({"choices": [{"message": alone}]}).thoughts is None


def test_tokens_of_thoughts_are_read_where_sglang_tells_them() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 5, "reasoning_tokens": 2,
             "completion_tokens_details": None}  # fmt: skip
    body = {"choices": [{"message": {"content": "6"}}], "usage": usage}
    assert reply_from_wire(body).usage == Usage(3, 5, reasoning_tokens=2)


def test_responses_get_their_items_back(tmp_path: Path) -> None:
    items = load("builtin").items
    with Responses(scripted()) as server:
        flags = ("--api", "responses", "--reasoning-effort", "low")
        answer = run(tmp_path, "openai/thinker", server.base_url, *flags)
        assert not server.refusals
    assert_all_right(answer, len(items))
    for one in traces(answer):
        usage = one.replies[0].reply.usage
        assert (usage.reasoning_tokens, usage.prompt_cached_tokens) == (THOUGHT_TOKENS, 4)


class Parses(Responses):
    """Refuses arguments that are not a JSON object, and items that came with other fields."""

    def _conversation(self, items: list[Body]) -> tuple[list[Body], int]:
        for item in items:
            if item.get("type") == "function_call":
                if item.keys() != {"type", "id", "call_id", "status", "name", "arguments"}:
                    raise Refused(f"an item that was not sent: {item}")
                if not isinstance(json.loads(item["arguments"]), dict):
                    raise Refused("arguments that are not an object")
        return super()._conversation(items)


def test_items_with_unreadable_arguments_go_back_wrapped_to_who_refuses_them(
    tmp_path: Path,
) -> None:
    with Parses(scripted("repairing:0.5")) as server:
        flags = ("--api", "responses", "--limit", "6", "--max-retries", "1")
        answer = run(tmp_path, "openai/thinker", server.base_url, *flags)
    assert (answer["summaries"][0]["errored"], answer["summaries"][0]["episodes"]) == (0, 6)
    assert server.refusals
    assert not [one for one in server.refusals if "item" in one]
    played = traces(answer)
    bad = [call for one in played for call in one.calls if not call.raw.arguments.startswith("{")]
    assert bad
    assert sum(replied.reply.retries for one in played for replied in one.replies) == len(
        server.refusals
    )


def test_responses_are_of_openai_models_alone() -> None:
    given: dict[str, Any]
    for given in ({"model": "anthropic/a"}, {"model": "openai/a", "stop": ("x",)}):
        with pytest.raises(ValueError, match="--api responses"):
            request_parameters(RunSettings(api=Api.RESPONSES, **given))


def test_without_thoughts_such_a_server_refuses(tmp_path: Path) -> None:
    with LoopbackServer(thinking(scripted(), "openrouter")) as server:
        flags = ("--limit", "2", "--reasoning-history", "none", "--retry-on-error", "0")
        answer = run(tmp_path, "openai/thinker", server.base_url, *flags)
    assert answer["summaries"][0]["errored"] == 2


# --- kept, replayed, forked ------------------------------------------------------------------


def test_a_reply_out_of_the_cache_has_its_thoughts(tmp_path: Path) -> None:
    flags = ("--limit", "3", "--cache", str(tmp_path / "cache"))
    with LoopbackServer(thinking(scripted(), "openrouter")) as server:
        first = traces(run(tmp_path, "openai/thinker", server.base_url, *flags))
        asked = server.requests
        again = run(tmp_path, "openai/thinker", server.base_url, *flags)
        assert server.requests == asked
    assert_all_right(again, 3)
    assert [told(one) for one in traces(again)] == [told(one) for one in first]


def told(trace: Trace) -> list[Thoughts | None]:
    return [replied.reply.thoughts for replied in trace.replies]


def test_a_fork_sends_the_thoughts_of_the_turns_before(tmp_path: Path) -> None:
    with LoopbackServer(thinking(scripted(), "deepseek")) as server:
        answer = run(tmp_path, "openai/thinker", server.base_url, "--limit", "1")
        (whole,) = traces(answer)
        episode = whole.started.episode
        forked = toolhop(
            "replay", answer["run"], "--episode", episode, "--json", "--sandbox", "process",
        )  # fmt: skip
        assert forked.returncode == 0, forked.stderr
    half = whole.before_turn(2)
    (spoken,) = [one for one in half.conversation() if isinstance(one, AssistantMessage)]
    assert spoken.thoughts == whole.replies[0].reply.thoughts
    assert spoken.thoughts is not None
    assert spoken.thoughts.text == thought(0)


def test_the_same_conversation_gives_the_same_bytes_as_far_as_it_goes(tmp_path: Path) -> None:
    sent: list[str] = []
    play = thinking(scripted(), "openrouter")

    def answer(request: Request) -> Reply:
        sent.append(json.dumps(request.body["messages"]))
        return play(request)

    with LoopbackServer(answer) as server:
        run(tmp_path, "openai/thinker", server.base_url, "--limit", "1")
    assert len(sent) > 2
    for before, after in itertools.pairwise(sent):
        assert after.startswith(before.removesuffix("]"))


# --- what goes back --------------------------------------------------------------------------


PLAIN = Thoughts("plain", {"reasoning_content": "plain"})
SIGNED = Thoughts("signed", {"thinking_blocks": [{"type": "thinking", "signature": "s"}]})
TALK: tuple[Message, ...] = (
    UserMessage("first"), AssistantMessage("a", thoughts=PLAIN),
    AssistantMessage("b", thoughts=SIGNED), UserMessage("second"),
    AssistantMessage("c", thoughts=PLAIN), AssistantMessage("d"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("history", "sent"),
    [("auto", "bc"), ("all", "abc"), ("last", "c"), ("none", "")],
)
def test_which_thoughts_go_back(history: str, sent: str) -> None:
    messages = remembered(TALK, ReasoningHistory(history))
    assert [one.content for one in messages] == [one.content for one in TALK]
    kept = [one for one in messages if isinstance(one, AssistantMessage) and one.thoughts]
    assert "".join(one.content for one in kept) == sent


# --- what is refused before a run ------------------------------------------------------------


REFUSED = [
    ({"model": "openai/a", "thinking_budget": 100}, "no such parameter"),
    ({"model": "anthropic/a", "thinking_budget": 4000, "max_tokens": 4000}, "counts thoughts"),
    ({"model": "anthropic/a", "thinking_budget": 9}, "no less than 1024"),
    ({"model": "gemini/a", "thinking_budget": 9, "reasoning_effort": "low"}, "leave one"),
    ({"model": "anthropic/a", "reasoning_effort": "low", "temperature": 0.0}, "no other than 1"),
    ({"model": "bedrock/us.anthropic.claude-x", "thinking_budget": 1024, "tool_choice": "required"},
     "cannot be forced"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "why"), REFUSED)
def test_what_a_provider_refuses_is_refused_before_the_run(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        request_parameters(RunSettings(**given))


def test_how_much_is_thought_is_sent() -> None:
    settings = RunSettings(
        model="anthropic/a", thinking_budget=1024, tool_choice="auto",
        parallel_tool_calls="off",
    )  # fmt: skip
    assert request_parameters(settings) == {
        "tool_choice": "auto", "parallel_tool_calls": False,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    }  # fmt: skip
    assert settings.temperature is None


# --- thoughts are no replies -----------------------------------------------------------------


def test_a_reply_cut_within_a_thought_is_no_answer(tmp_path: Path) -> None:
    def cut(request: Request) -> Reply:
        return Reply("", finish_reason="length", thoughts=PLAIN)

    with LoopbackServer(cut) as server:
        answer = run(tmp_path, "openai/thinker", server.base_url, "--limit", "1")
    (played,) = traces(answer)
    assert played.ended is not None
    assert played.ended.ending is Ending.CUT_IN_THOUGHT
    assert answer["summaries"][0]["endings"] == {"cut_in_thought": 1}


@pytest.mark.parametrize("call_format", ["native", "text"])
def test_thoughts_within_the_text_are_neither_call_nor_answer(
    call_format: str, tmp_path: Path
) -> None:
    tempting = "Action: wrong\nAction Input: {}\n" + thought(1)
    play = scripted()

    def answer(request: Request) -> Reply:
        reply = play(request)
        content = f"<think>{tempting}</think>{reply.content}"
        return Reply(content, reply.calls)

    with LoopbackServer(answer) as server:
        flags = ("--limit", "3", "--call-format", call_format)
        assert_all_right(run(tmp_path, "openai/thinker", server.base_url, *flags), 3)


@pytest.mark.parametrize("form", ["deepseek", "vllm", "openrouter"])
def test_runs_in_the_text_format_send_thoughts_back_and_compare(form: str, tmp_path: Path) -> None:
    with LoopbackServer(thinking(scripted(), form)) as server:
        flags = ("--limit", "3", "--reasoning-history", "all")
        native = run(tmp_path / "native", "openai/thinker", server.base_url, *flags)
        text = run(
            tmp_path / "text", "openai/thinker", server.base_url, *flags, "--call-format", "text"
        )
        assert not server.errors
    assert_all_right(native, 3)
    assert_all_right(text, 3)
    assert [told(one)[0] for one in traces(text)] == [told(one)[0] for one in traces(native)]
    compared = toolhop("compare", native["run"], text["run"], "--json")
    assert compared.returncode == 0, compared.stderr
    (one,) = json.loads(compared.stdout)["comparisons"]
    assert one["pairs"] == 3
    assert one["groups"][0]["measures"][0]["difference"] == 0
    assert toolhop("explain", text["run"]).returncode == 0


def test_a_tag_within_an_argument_of_the_text_format_reaches_the_tool() -> None:
    called = Reply('Action: f\nAction Input: {"q": "<think>a</think>"}')
    thoughtful = replace(called, content=f"<think>{thought(0)}</think>\n{called.content}")
    for reply in (called, thoughtful):
        assert [(one.name, one.arguments) for one in read_calls(CallFormat.TEXT, reply, 1)] == [
            ("f", '{"q": "<think>a</think>"}')
        ]


def test_thoughts_are_shown_in_a_line(tmp_path: Path) -> None:
    with LoopbackServer(thinking(scripted(), "deepseek")) as server:
        answer = run(tmp_path, "openai/thinker", server.base_url, "--limit", "1")
    (played,) = traces(answer)
    shown = toolhop("show", answer["run"], played.started.episode)
    assert shown.returncode == 0, shown.stderr
    assert "thought: turn 0: should I answer" in shown.stdout
    assert f"{THOUGHT_TOKENS} of thoughts" in shown.stdout


def test_thoughts_that_are_not_kept_leave_a_length_and_a_digest(tmp_path: Path) -> None:
    with LoopbackServer(thinking(scripted(), "deepseek")) as server:
        flags = ("--limit", "1", "--keep-thoughts", "off")
        answer = run(tmp_path, "openai/thinker", server.base_url, *flags)
        assert not server.errors
    assert_all_right(answer, 1)
    (played,) = traces(answer)
    first = played.replies[0].reply.thoughts
    assert first is not None
    assert (first.text, first.fields, first.chars) == ("", {}, len(thought(0)))
    assert len(first.digest) == 64
    assert thought(0) not in Path(answer["run"]).joinpath("manifest.json").read_text()
    item = load("builtin").by_id[played.started.item]
    with pytest.raises(ValueError, match="--keep-thoughts off"):
        check_resumable(played.before_turn(2), item, Setting())
    assert kept([played], item, played.started.messages) == Prefix()
    again = toolhop("score", answer["run"], "--json")
    assert again.returncode == 0, again.stderr


# --- strict schemas --------------------------------------------------------------------------


STRICT: dict[str, Any] = {
    "type": "object", "additionalProperties": False, "required": ["a"],
    "properties": {"a": {"type": "object", "properties": {}, "additionalProperties": False}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({}, ""),
        ({"required": []}, "the parameters have 'a', which is not required"),
        ({"additionalProperties": True}, "the parameters allow other properties"),
        ({"properties": {"a": {"type": "object"}}}, "a allow other properties"),
        ({"properties": {"a": {"type": "array", "uniqueItems": True}}}, "a use uniqueItems"),
        ({"properties": {"a": {"anyOf": [{"type": "null"}, {"type": "object"}]}}}, "a[] allow"),
        ({"properties": {"a": {"oneOf": [{"type": "null"}]}}}, "a use oneOf"),
        ({"properties": {"a": {"type": "string", "default": ""}}}, "a use default"),
        ({"properties": {"a": {"type": ["object", "null"]}}}, "a allow other properties"),
        ({"anyOf": [STRICT]}, "the parameters use anyOf at the top"),
    ],
)
def test_what_strict_mode_refuses_is_named(changed: dict[str, Any], problem: str) -> None:
    found = strict_problem({**STRICT, **changed})
    assert found.startswith(problem)
    assert bool(found) is bool(problem)


def test_strict_schemas_are_sent_or_refused_before_the_run(tmp_path: Path) -> None:
    sent: list[Any] = []
    play = scripted()

    def answer(request: Request) -> Reply:
        tools: Any = request.body.get("tools")
        sent.extend(tools)
        return play(request)

    items = load("builtin").items
    takes = [
        item.id
        for item in items
        if not any(strict_problem(tool.schema.parameters) for tool in item.all_tools.values())
    ]
    refused = next(item.id for item in items if item.id not in takes)
    with LoopbackServer(answer) as server:
        flags = ("--strict-tools", "on", "--sample-id")
        assert_all_right(run(tmp_path, "openai/a", server.base_url, *flags, takes[0]), 1)
        assert {tool["function"]["strict"] for tool in sent} == {True}
        done = toolhop(
            "run", "--model", "openai/a", "--base-url", server.base_url, *flags, refused,
            "--log-dir", str(tmp_path),
        )  # fmt: skip
    assert done.returncode == 2
    assert "has no schema for strict mode" in done.stderr


def test_an_effort_whose_budget_leaves_no_tokens_is_refused_before_the_run(tmp_path: Path) -> None:
    with Anthropic(scripted()) as server:
        done = toolhop(
            "run", "--model", "anthropic/claude-sonnet-4-5", "--base-url", server.base_url,
            "--reasoning-effort", "high", "--max-tokens", "4096", "--log-dir", str(tmp_path),
            env=environment(),
        )  # fmt: skip
        assert server.requests == 0
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "--reasoning-effort high is a thinking budget of 4096 tokens" in done.stderr


# --- killed in the middle --------------------------------------------------------------------


def test_an_episode_that_was_cut_off_goes_on_with_its_thoughts(tmp_path: Path) -> None:
    broken = {"at": 0}
    play = thinking(scripted(), "openrouter")

    def answer(request: Request) -> Reply:
        broken["at"] += 1
        if broken["at"] in {3, 8, 13}:
            raise Refused("the server stops here")
        return play(request)

    with LoopbackServer(answer) as server:
        flags = ("--limit", "4", "--max-samples", "1", "--retry-on-error", "3")
        answer_ = run(tmp_path, "openai/thinker", server.base_url, *flags)
    assert_all_right(answer_, 4)
    resumed = [one for one in traces(answer_) if one.started.attempt > 1]
    assert resumed
    for one in resumed:
        assert all(replied.reply.thoughts for replied in one.replies)


class Stops:
    """Answers as `play` does, but keeps the second request of the second item waiting, once."""

    def __init__(self, play: RequestResponder) -> None:
        self._play = play
        self.reached, self.let_go = threading.Event(), threading.Event()
        self.asked: Counter[str] = Counter()
        self._items: set[str] = set()

    def __call__(self, request: Request) -> Reply:
        said = [one for one in request.messages if isinstance(one, AssistantMessage)]
        question = next(one.content for one in request.messages if isinstance(one, UserMessage))
        self._items.add(question)
        self.asked[f"{question} {len(said)}"] += 1
        if (len(self._items), len(said)) == (2, 1) and not self.reached.is_set():
            self.reached.set()
            self.let_go.wait(CEILING_S)
        return self._play(request)


PROVIDERS = [
    *(pytest.param("openai/thinker", form, (), id=form) for form in FORMS),
    pytest.param("openai/thinker", Responses, ("--api", "responses"), id="responses"),
    *(pytest.param(model, own, (), id=own.__name__) for model, own in OWN.items()),
]


@pytest.mark.parametrize(("model", "provider", "flags"), PROVIDERS)
def test_a_killed_run_goes_on_where_it_was(
    model: str, provider: str | type[OwnProtocol], flags: tuple[str, ...], tmp_path: Path
) -> None:
    stops = Stops(scripted())
    server: LoopbackServer | OwnProtocol
    if isinstance(provider, str):
        server = LoopbackServer(thinking(stops, provider))
    else:
        server = provider(stops)
    with server:
        process = Launched(
            "run", "--model", model, "--base-url", server.base_url, "--log-dir", str(tmp_path),
            "--sandbox", "process", "--limit", "3", "--max-samples", "1", *flags,
            env=environment(), imports=SERVED,
        )  # fmt: skip
        assert stops.reached.wait(CEILING_S), "the second item's second request"
        process.kill()
        assert process.wait() == -signal.SIGKILL
        process.communicate()
        stops.let_go.set()
        (folder,) = tmp_path.iterdir()
        before = [one for one in RunStore.open(folder).traces() if one.ended]
        answer = ran("--resume", str(folder), "--base-url", server.base_url)
        assert not (server.errors if isinstance(server, LoopbackServer) else server.refusals)
    assert_all_right(answer, 3)
    after = {one.started.episode: one for one in traces(answer)}
    assert len(before) == 1
    assert [after[one.started.episode] for one in before] == before
    assert sum(one.started.item == before[0].started.item for one in after.values()) == 1
    # The one request that was not answered is asked again, and no other.
    assert sorted(stops.asked.values())[-2:] == [1, 2]
