"""The conversion between our messages and OpenAI's JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhop_agents.models.wire_reading import (
    Unreadable,
    messages_from_wire,
    reply_from_wire,
    tools_from_wire,
)
from toolhop_agents.models.wire_sending import (
    has_unparsed,
    messages_to_wire,
    reply_to_wire,
    sendable,
)
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    RawCall,
    Reply,
    SystemMessage,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

TEXT = st.text(max_size=20)
ANY_TEXT = st.text(st.characters(), max_size=20)  # lone surrogates too


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Messages as an episode makes them: every tool message answers a call made before."""
    messages: list[Message] = [SystemMessage(draw(TEXT)), UserMessage(draw(TEXT))]
    number = 0
    for _ in range(draw(st.integers(0, 3))):
        calls = []
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            calls.append(RawCall(f"id{number}", draw(TEXT), draw(TEXT)))
        messages.append(AssistantMessage(draw(TEXT), tuple(calls)))
        messages.extend(ToolMessage(call.id, call.name, draw(TEXT)) for call in calls)
    return messages


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)

REPLIES = st.builds(
    Reply,
    content=TEXT,
    calls=st.lists(st.builds(RawCall, id=TEXT.filter(bool), name=TEXT, arguments=TEXT)).map(
        lambda calls: tuple({call.id: call for call in calls}.values())
    ),
    usage=st.builds(
        Usage,
        input_tokens=st.integers(0, 10**6),
        output_tokens=st.integers(0, 10**6),
        cost_usd=st.none() | st.floats(0, 100),
    ),
    model=TEXT.filter(bool),
    finish_reason=TEXT.filter(bool),
)


def over_the_wire(value: object) -> object:
    return json.loads(json.dumps(value))


def message(**fields: object) -> dict[str, object]:
    return {"choices": [{"message": {"role": "assistant"} | fields, "finish_reason": "stop"}]}


def call(id_: object = "a", arguments: object = "{}", **fields: object) -> dict[str, object]:
    entry: dict[str, object] = {"id": id_, "type": "function"}
    return entry | {"function": {"name": "f", "arguments": arguments}} | fields


@given(conversations())
def test_a_conversation_survives_the_wire(messages: list[Message]) -> None:
    assert list(messages_from_wire(over_the_wire(messages_to_wire(messages)))) == messages


@given(REPLIES)
def test_a_reply_survives_the_wire(reply: Reply) -> None:
    body = reply_to_wire(reply, model="other", id="x")
    assert reply_from_wire(over_the_wire(body)) == reply


@given(JSONS)
def test_what_is_sendable_can_be_encoded_and_is_otherwise_unchanged(value: JSON) -> None:
    sent = sendable(value)
    json.dumps(sent, ensure_ascii=False).encode()
    assert sendable(sent) == sent
    if "\\ud" not in json.dumps(value):
        assert sent == value


@given(JSONS)
def test_any_json_is_read_or_called_unreadable(value: JSON) -> None:
    for body in (value, {"choices": value}, message(tool_calls=value, content=value)):
        try:
            reply_from_wire(body)
        except Unreadable:
            continue


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert sendable(["a\ud800b", {"\udc00": "\ud83d\ude00"}]) == [
        "a\ufffdb",
        {"\ufffd": "\U0001f600"},
    ]


def test_calls_without_content_are_sent_with_null() -> None:
    (sent,) = messages_to_wire([AssistantMessage("", (RawCall("a", "f", "{"),))])
    assert sent == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}}
        ],
    }


@pytest.mark.parametrize("text", ['{"a": 1', "", "[1]", '"x"', "nul", "[" * 100_000])
def test_objects_only_wraps_what_is_no_object(text: str) -> None:
    said = [AssistantMessage("", (RawCall("a", "f", text),))]
    assert has_unparsed(said)
    (back,) = messages_from_wire(messages_to_wire(said, objects_only=True))
    assert isinstance(back, AssistantMessage)
    assert json.loads(back.calls[0].arguments) == {"unparsed": text}


def test_objects_only_leaves_objects_as_written() -> None:
    said = [AssistantMessage("", (RawCall("a", "f", '{ "x" :1 }'),))]
    assert not has_unparsed(said)
    assert list(messages_from_wire(messages_to_wire(said, objects_only=True))) == said


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(None, "", id="null"),
        pytest.param("x", "x", id="string"),
        pytest.param([{"type": "text", "text": "a"}, {"text": "b"}, "c"], "abc", id="parts"),
        pytest.param([{"type": "refusal", "refusal": "no"}], "no", id="refusal part"),
        pytest.param([{"type": "image_url", "image_url": {}}], "", id="no text part"),
        pytest.param(7, "", id="number"),
    ],
)
def test_content(content: object, text: str) -> None:
    assert reply_from_wire(message(content=content)).content == text


def test_a_refusal_is_content_only_where_there_is_none() -> None:
    assert reply_from_wire(message(content=None, refusal="no")).content == "no"
    assert reply_from_wire(message(content="yes", refusal="no")).content == "yes"
    atomic = message(content=None, provider_specific_fields={"refusal": "no"})
    assert reply_from_wire(atomic).content == "no"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param(call(arguments='{"a":1 ,'), RawCall("a", "f", '{"a":1 ,'), id="as written"),
        pytest.param(call(arguments={"a": "é"}), RawCall("a", "f", '{"a": "é"}'), id="object"),
        pytest.param(call(arguments=None), RawCall("a", "f", ""), id="null"),
        pytest.param(call(id_=None), RawCall("call_1", "f", "{}"), id="no id"),
        pytest.param(call(id_=""), RawCall("call_1", "f", "{}"), id="empty id"),
        pytest.param(call(type=None), RawCall("a", "f", "{}"), id="no type"),
        pytest.param(
            {"id": "a", "type": "custom", "custom": {"name": "g", "input": "free text"}},
            RawCall("a", "g", "free text"),
            id="custom",
        ),
        pytest.param(
            {"id": "a", "name": "h", "arguments": {"x": 1}},
            RawCall("a", "h", '{"x": 1}'),
            id="flat",
        ),
        pytest.param("junk", RawCall("call_1", "", "junk"), id="not an object"),
    ],
)
def test_one_call(entry: object, expected: RawCall) -> None:
    assert reply_from_wire(message(tool_calls=[entry])).calls == (expected,)


def test_the_legacy_function_call() -> None:
    reply = reply_from_wire(message(function_call={"name": "f", "arguments": "{}"}))
    assert reply.calls == (RawCall("call_1", "f", "{}"),)


def test_parallel_calls_keep_their_order_and_get_ids_of_their_own() -> None:
    entries = [call("a"), call("a"), call(None), call("call_2")]
    reply = reply_from_wire(message(tool_calls=entries), taken={"call_1"})
    assert [made.id for made in reply.calls] == ["a", "call_2", "call_3", "call_4"]


def test_ids_are_not_repeated_over_turns() -> None:
    reply = reply_from_wire(message(tool_calls=[call("a")]), taken={"a"})
    assert [made.id for made in reply.calls] == ["call_1"]


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        pytest.param(None, Usage(), id="missing"),
        pytest.param({"prompt_tokens": 3, "completion_tokens": 4}, Usage(3, 4), id="usual"),
        pytest.param({"input_tokens": 3, "output_tokens": 4}, Usage(3, 4), id="other names"),
        pytest.param({"prompt_tokens": None, "completion_tokens": "4"}, Usage(), id="junk"),
        pytest.param({"prompt_tokens": -1, "cost": True}, Usage(), id="nonsense"),
        pytest.param({"prompt_tokens": 10**400, "cost": 10**400}, Usage(), id="no float"),
        pytest.param({"cost": 0.25}, Usage(cost_usd=0.25), id="cost"),
        pytest.param(
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
            Usage(9, prompt_cached_tokens=4),
            id="at hand, OpenAI",
        ),
        pytest.param(
            {"input_tokens": 9, "cache_read_input_tokens": 4},
            Usage(9, prompt_cached_tokens=4),
            id="at hand, Anthropic",
        ),
        pytest.param(
            {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4, "prompt_tokens_details": None},
            Usage(9, prompt_cached_tokens=4),
            id="at hand, DeepSeek",
        ),
        pytest.param({"cost": {"total_cost": 1}}, Usage(cost_usd=1.0), id="itemised cost"),
    ],
)
def test_usage(raw: object, usage: Usage) -> None:
    assert reply_from_wire(message() | {"usage": raw}).usage == usage


@pytest.mark.parametrize(
    ("body", "said", "status"),
    [
        pytest.param([], "object was expected", None, id="list"),
        pytest.param({}, "no choices", None, id="empty"),
        pytest.param({"choices": []}, "no choices", None, id="no choices"),
        pytest.param({"choices": [{}]}, "no message", None, id="no message"),
        pytest.param({"error": {"message": "busy", "code": 429}}, "busy", 429, id="error"),
        pytest.param({"error": {"message": "odd", "code": "x"}}, "odd", None, id="odd code"),
        pytest.param(
            {"choices": [{"error": {"message": "gone", "code": 502}}]}, "gone", 502, id="in choice"
        ),
    ],
)
def test_unreadable(body: object, said: str, status: int | None) -> None:
    with pytest.raises(Unreadable, match=said) as caught:
        reply_from_wire(body)
    assert caught.value.status == status


def test_finish_reason_and_model_are_read() -> None:
    reply = reply_from_wire(message(content="x") | {"model": "m-1"})
    assert reply == Reply("x", model="m-1", finish_reason="stop")
    assert reply_from_wire({"choices": [{"message": {}}]}) == Reply()


def test_a_tool_survives_the_wire() -> None:
    tool = ToolSchema("f", "does é", {"type": "object", "properties": {"x": {"type": "string"}}})
    assert tools_from_wire(over_the_wire([tool.to_openai()])) == (tool,)
    assert tools_from_wire(None) == ()
    bare = tools_from_wire([{"type": "function", "function": {"name": "f"}}])
    assert bare == (replace(tool, description="", parameters={}),)


@pytest.mark.parametrize("raw", [{}, [1], [{"type": "function"}], [{"function": {"name": 1}}]])
def test_unreadable_tools(raw: object) -> None:
    with pytest.raises(Unreadable):
        tools_from_wire(raw)


@pytest.mark.parametrize("raw", [None, [1], [{"role": "wizard"}], [{}]])
def test_unreadable_messages(raw: object) -> None:
    with pytest.raises(Unreadable):
        messages_from_wire(raw)


def test_other_roles_are_understood() -> None:
    raw = [
        {"role": "developer", "content": "d"},
        {"role": "assistant", "content": None, "tool_calls": [call("a")]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "1"}]},
        {"role": "function", "name": "g", "content": "2"},
    ]
    assert messages_from_wire(raw) == (
        SystemMessage("d"),
        AssistantMessage("", (RawCall("a", "f", "{}"),)),
        ToolMessage("a", "f", "1"),
        ToolMessage("", "g", "2"),
    )


def test_a_reply_that_was_cut_before_it_said_anything_is_a_reply() -> None:
    body = {"choices": [{"message": None, "finish_reason": "length"}]}
    assert reply_from_wire(body) == Reply(finish_reason="length")
    body = {"choices": [{"message": None, "finish_reason": "stop"}]}
    with pytest.raises(Unreadable):
        reply_from_wire(body)
