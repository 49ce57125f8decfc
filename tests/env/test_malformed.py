"""Calls in a wrong form are seen, and answers that speak of calls are not taken for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhop_env.call_forms import Form
from toolhop_env.malformed import malformed_call
from toolhop_env.messages import RawCall, Reply

TOOLS = ("look_up", "sum_digits", "now")
CALL = '{"name": "look_up", "arguments": {"value": "France"}}'

CALLS = {
    "one line": (Form.LABELS, 'Action: look_up Action Input: {"value": "France"}'),
    "one line after a thought": (
        Form.LABELS,
        'Thought: I need the capital. Action: look_up Action Input: {"value": "France"}',
    ),
    "small letters": (Form.LABELS, 'thought: hm\naction: look_up\naction input: {"value": "x"}'),
    "small letters, no arguments": (Form.LABELS, "I need the date.\n\naction: now"),
    "capitals": (Form.LABELS, 'ACTION: look_up\nACTION INPUT: {"value": "x"}'),
    "numbered": (Form.LABELS, '1. Action: look_up\n2. Action Input: {"value": "x"}'),
    "numbered labels": (Form.LABELS, 'Action 1: look_up\nAction Input 1: {"value": "x"}'),
    "bullets": (Form.LABELS, '- Action: look_up\n- Action Input: {"value": "x"}'),
    "quoted": (Form.LABELS, '> Action: look_up\n> Action Input: {"value": "x"}'),
    "tool": (Form.LABELS, 'Tool: look_up\nTool Input: {"value": "x"}'),
    "tool, plain input": (Form.LABELS, "Tool: look_up\nInput: France"),
    "tool with an object": (Form.LABELS, 'Tool: look_up {"value": "x"}'),
    "tool call with parentheses": (Form.LABELS, 'Tool call: look_up(value="x")'),
    "function and arguments": (Form.LABELS, '**Function:** `look_up`\n**Arguments:** {"value": 1}'),
    "a fence around the input": (
        Form.LABELS,
        'Use tool: look_up\nParameters:\n```json\n{"value": "x"}\n```',
    ),
    "the first papers' form": (Form.LABELS, "Action 1: look_up[France]"),
    "a wide colon": (Form.LABELS, 'Action：look_up\nAction Input：{"value": "x"}'),
    "a name that no tool has": (Form.LABELS, 'ok. Action: find Action Input: {"value": "x"}'),
    "an input alone": (Form.LABELS, 'Action Input: {"value": "x"}'),
    "an invented observation": (
        Form.LABELS,
        'Thought: so Action: look_up Action Input: {"value": "x"}\nObservation: Paris',
    ),
    "cut in the middle": (Form.LABELS, 'so: Action: look_up Action Input: {"value": "Fra'),
    "bare object": (Form.JSON_OBJECT, CALL),
    "fence": (Form.JSON_OBJECT, f"I look it up first.\n\n```json\n{CALL}\n```"),
    "fence without a language": (Form.JSON_OBJECT, f"```\n{CALL}\n```"),
    "other keys": (Form.JSON_OBJECT, '{"action": "look_up", "action_input": {"value": "x"}}'),
    "tool and parameters": (Form.JSON_OBJECT, '{"tool": "look_up", "parameters": {}}'),
    "arguments first": (Form.JSON_OBJECT, '{"arguments": {"value": "x"}, "name": "look_up"}'),
    "arguments as text": (
        Form.JSON_OBJECT,
        json.dumps({"name": "look_up", "arguments": '{"value": "x"}'}),
    ),
    "as a request has it": (
        Form.JSON_OBJECT,
        json.dumps({"tool_calls": [{"type": "function", "function": json.loads(CALL)}]}),
    ),
    "several": (Form.JSON_OBJECT, f"[{CALL}, {CALL}]"),
    "a Python literal": (Form.JSON_OBJECT, "{'name': 'look_up', 'arguments': {'value': 3.5}}"),
    "a prefix": (Form.JSON_OBJECT, '{"name": "functions.look_up", "arguments": {"value": "x"}}'),
    "cut object": (Form.JSON_OBJECT, CALL[:-8]),
    "it waits": (Form.JSON_OBJECT, f"```json\n{CALL}\n```\nI will wait for the result."),
    "within the answer's tag": (Form.JSON_OBJECT, f"<answer>{CALL}</answer>"),
    "after a thought that answers": (
        Form.JSON_OBJECT,
        f"<think>The answer is 5. <answer>5</answer></think>\n{CALL}",
    ),
    "tags": (Form.TAGS, f"<tool_call>\n{CALL}\n</tool_call>"),
    "tags, an unknown tool": (Form.TAGS, '<tool_call>{"name": "find", "input": {}}</tool_call>'),
    "tags of XML": (
        Form.TAGS,
        "<function_calls><invoke name='look_up'><parameter name='value'>x</parameter></invoke>",
    ),
    "a function's tag": (Form.TAGS, '<function=look_up>{"value": "x"}</function>'),
    "special tokens": (Form.TAGS, f"<|tool_call|>{CALL}<|end|>"),
    "the tag of Mistral": (Form.TAGS, f"[TOOL_CALLS] [{CALL}]"),
    "the text format where calls are native": (
        Form.LABELS,
        'Thought: hm\nAction: look_up\nAction Input: {"value": "x"}',
    ),
    "indented": (Form.LABELS, "tool: look_up\nparameters:\n  value: France\n  more: x"),
    "it says what the call will do": (
        Form.JSON_OBJECT,
        f"{CALL}\n\nThis function call will look up the capital.",
    ),
    "a type beside it": (
        Form.JSON_OBJECT,
        '{"type": "function", "name": "look_up", "parameters": {"value": "x"}}',
    ),
    "the tool as a tag": (Form.TAGS, "I ask.\n<look_up><value>France</value></look_up>"),
    "a last line of code": (Form.PYTHON, 'I look it up.\nlook_up(value="France")'),
    "the tool as an empty tag": (Form.TAGS, "<now/>"),
    "full-width bars": (
        Form.TAGS,
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look_up<｜tool▁sep｜>{"value": "x"}',
    ),
    "a prefix in the bars": (Form.TAGS, '<｜DSML｜function_calls>\n<｜DSML｜invoke name="now">'),
    "a section": (
        Form.TAGS,
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.look_up:0{"value": "x"}',
    ),
    "a method": (Form.TAGS, '<|python_tag|>look_up.call(value="x")'),
    "code": (Form.PYTHON, 'look_up(value="France")'),
    "code in a list": (Form.PYTHON, '[look_up(value="France"), sum_digits(number=12)]'),
    "a code block": (Form.PYTHON, '```python\nresult = look_up(value="x")\nprint(now())\n```'),
}  # fmt: skip

ANSWERS = {
    "in German": f"Die Antwort lautet 1997.\n\n{CALL}",
    "in French": f"La réponse est 1997.\n\n{CALL}",
    "in Spanish": f"La respuesta correcta es 1997.\n\n{CALL}",
    "in Chinese": f"答案是 1997。\n\n{CALL}",
    "a final result": f"The final result is 1997.\n\n{CALL}",
    "a number": "42",
    "nothing": "",
    "a tag": "The capital is Paris. <answer>Paris</answer>",
    "a tag beside a call": f"{CALL} gave it. <answer>Paris</answer>",
    "a tag after an account": 'Action: look_up Action Input: {"value": "x"}\n<answer>5</answer>',
    "a tool's name": "I used look_up and then sum_digits. It is 5.",
    "a tool's name at the end": "It is 5, as I know from look_up.",
    "a tool's name in code": "The tool `look_up` says that it is Paris.",
    "a call within a sentence": 'With look_up(value="France") I found that it is Paris.',
    "a call in code in a sentence": 'I called `look_up(value="France")`, which gave Paris.',
    "the word action": "Action: none is needed, the capital is Paris.",
    "actions as a heading": "**Action:** the treaty of 1763\n**Input:** none",
    "action of something": "The action: a war. It began in 1763.",
    "tool as a word": "Tool: a hammer",
    "the tool that was used": "It is Paris.\nTool: look_up",
    "the tool and a remark": "It is Paris.\nTool: look_up (for the capital)",
    "an account in words": "Tool: look_up\nInput: France\nResult: Paris",
    "an account that goes on": 'Action: look_up Action Input: {"value": "x"}\nSo it is Paris.',
    "a fence that is told of": f"I asked:\n```json\n{CALL}\n```\nIt returned Paris.",
    "an answer, then its source": f"The answer is Paris. The call was:\n```json\n{CALL}\n```",
    "a final answer after all": f"{CALL}\nFinal Answer: Paris",
    "a JSON answer": '{"answer": "Paris"}',
    "a JSON answer in a fence": '```json\n{"name": "Paris", "country": "France"}\n```',
    "a JSON answer with its steps": json.dumps({"city": "Paris", "steps": [json.loads(CALL)]}),
    "a JSON answer with a name": '{"name": "Ada", "arguments": {"born": 1815}}',
    "a JSON answer with the tool": '{"tool": "look_up", "result": "Paris"}',
    "a JSON account": json.dumps({"tool": "look_up", "input": {"value": "x"}, "output": "Paris"}),
    "a call that was made": f"Paris. I called:\n```json\n{CALL}\n```",
    "a call that was made, within a line": f"It is Paris, as I used {CALL}.",
    "the call that it was": f"Paris. The function call was {CALL}",
    "a JSON list": '["look_up", "sum_digits"]',
    "a tool's schema": json.dumps(
        {"name": "look_up", "description": "Looks.", "parameters": {"type": "object"}}
    ),
    "a bare schema": json.dumps(
        {"name": "look_up", "parameters": {"type": "object", "properties": {}}}
    ),
    "a code block": "```python\ndef area(r):\n    return 3.14 * r\n```",
    "a code block with a tool in it": "```python\nif look_up(value='x') == 'y':\n    n = 1\n```",
    "a program": "```python\nimport math\nprint(math.sqrt(2))\n```",
    "a formula": "f(x) = 2 * x",
    "braces": "The set is {1, 2, 3} and {a}.",
    "mathematics": r"\boxed{42}",
    "a thought only": f"<think>I should call {CALL}",
    "a plan in words": "First look up the country, then sum the digits: 33 gives 6.",
    "a table": "| tool | result |\n|---|---|\n| look_up | Paris |",
    "an observation": "Observation: Paris",
    "a label without a call": "Thought: I know it.\nFinal Answer: Paris",
    "a JSON account with the final answer": json.dumps(
        {"tool": "look_up", "input": {"value": "x"}, "final_answer": "Paris"}
    ),
    "an answer in the tool's tag": "<look_up>Paris</look_up>",
    "the tool's tag in a sentence": "The <look_up> element is {5}.",
    "a type": "Vector<look_up> {5}",
    "HTML": "<p>It is <b>Paris</b></p>",
}  # fmt: skip


@pytest.mark.parametrize(("form", "text"), CALLS.values(), ids=CALLS)
def test_a_call_in_a_wrong_form(form: Form, text: str) -> None:
    found = malformed_call(Reply(text), TOOLS)
    assert found is not None
    assert found.form is form


@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_no_call(text: str) -> None:
    assert malformed_call(Reply(text), TOOLS) is None


GOLDEN = json.loads((Path(__file__).parents[1] / "golden/calls_in_text.json").read_text("utf-8"))
"""The rules were changed with the first two sets in view, and not with the third. `missed` and
`falsely_taken` are what they do not get right."""


@pytest.mark.parametrize("forms", GOLDEN)
def test_forms_that_were_written_without_the_rules(forms: dict[str, list[str]]) -> None:
    read = {
        kind: [malformed_call(Reply(text), forms["tools"]) is not None for text in texts]
        for kind, texts in forms.items()
    }
    assert all(read["calls"])
    assert not any(read["answers"])


def test_what_can_be_made_out() -> None:
    found = malformed_call(Reply('so Action: look_up Action Input: {"value": "x"}'), TOOLS)
    assert found is not None
    assert (found.name, found.arguments) == ("look_up", '{"value": "x"}')
    found = malformed_call(Reply(f"```json\n{CALL}\n```"), TOOLS)
    assert found is not None
    assert (found.name, json.loads(found.arguments)) == ("look_up", {"value": "France"})


def test_without_tools_there_is_nothing_to_call() -> None:
    assert malformed_call(Reply(CALL), ()) is None


def test_a_provider_may_say_so() -> None:
    found = malformed_call(Reply("", finish_reason="MALFORMED_FUNCTION_CALL"), TOOLS)
    assert found is not None
    assert found.form is Form.PROVIDER
    assert malformed_call(Reply("", finish_reason="stop"), TOOLS) is None


def test_native_calls_where_calls_are_text() -> None:
    found = malformed_call(Reply("", (RawCall("a", "look_up", "{}"),)), TOOLS)
    assert found is not None
    assert found.form is Form.NATIVE


PIECES = (
    "Action:",
    "action input:",
    "look_up",
    "{",
    "}",
    '"',
    "```",
    "<tool_call>",
    "(",
    "\n",
    "- ",
)


@given(st.lists(st.sampled_from((*PIECES, "x", ": ", "7")), max_size=30))
def test_any_text_is_read(pieces: list[str]) -> None:
    malformed_call(Reply("".join(pieces)), TOOLS)


@pytest.mark.parametrize(
    "piece", [*PIECES, "<", "*-", '{"a":', "Action: look_up", "answer is", "is-", "is a b ", " "]
)
def test_long_texts_are_read(piece: str) -> None:
    malformed_call(Reply(piece * 20_000), TOOLS)
    malformed_call(Reply(f"{piece * 20_000}.\n{CALL}"), TOOLS)
