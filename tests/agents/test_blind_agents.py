"""Agents that read no English: they play, they never err by themselves, and they score chance."""

from __future__ import annotations

import json

import pytest

from toolhop_agents.scripted.blind import Frequency, copy_from_question, no_english
from toolhop_agents.scripted.choose import choose
from toolhop_env.messages import AssistantMessage, Message, ToolMessage, UserMessage
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import DataNotFound
from toolhop_tools.load import load
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema


def _item(answer: str = "1912", tools: int = 1) -> Item:
    parameters: dict[str, JSON] = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    made = [
        Tool(ToolSchema(f"look_up_{n}", "Looks up.", parameters), Program("", f"look_up_{n}"))
        for n in range(tools)
    ]
    hop = Hop("When?", answer, made[0], GoldCall({"name": "Velmora"}, "written"))
    return Item("a", "When was the hall of Velmora opened?", answer, (hop,), "halls", "year",
                others=tuple(made[1:]))  # fmt: skip


def _answered(item: Item, *results: str) -> list[Message]:
    reply = no_english(item, 0, [UserMessage(item.question)], True)
    said = AssistantMessage(reply.content, reply.calls)
    answers = [
        ToolMessage(call.id, call.name, text)
        for call, text in zip(reply.calls, results, strict=True)
    ]
    return [UserMessage(item.question), said, *answers]


def test_no_english_fills_calls_with_what_the_question_names() -> None:
    reply = no_english(_item(), 0, [UserMessage("...")], True)
    assert [json.loads(call.arguments) for call in reply.calls] == [{"name": "Velmora"}]


def test_no_english_answers_a_value_of_the_answers_type() -> None:
    item = _item()
    result = json.dumps({"architect": "Brenolo", "opened": 1912})
    reply = no_english(item, 0, _answered(item, result), True)
    assert reply.content == "<answer>1912</answer>"


def test_no_english_draws_its_calls_by_seed_and_item() -> None:
    item = _item(tools=6)
    orders = {
        tuple(call.name for call in no_english(item, seed, [], True).calls) for seed in range(5)
    }
    assert len(orders) > 1
    assert no_english(item, 3, [], True) == no_english(item, 3, [], True)


def test_copy_from_question_answers_a_name_of_it() -> None:
    assert copy_from_question(_item(), 0, [], True).content in {
        "<answer>Velmora</answer>",
        "<answer>When</answer>",
    }


def test_frequency_goes_by_the_type_of_answer() -> None:
    seen = [_item("1901"), _item("1901"), _item("1850")]
    assert Frequency(seen)(_item(), 0, [], True).content == "<answer>1901</answer>"


def test_frequency_reads_the_data_that_it_is_given() -> None:
    play = choose("frequency:builtin")
    item = load("builtin").items[0]
    assert play(item, 0, [], True).content.startswith("<answer>")
    with pytest.raises(DataNotFound, match="no data set 'nope'"):
        choose("frequency:nope")
