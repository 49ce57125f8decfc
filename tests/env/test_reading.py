from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhop_env.messages import RawCall, Reply
from toolhop_env.reading import CallFormat, read_calls, tagged_answer, write_calls

TEXTS = {
    "one": ('Action: f\nAction Input: {"a": 1}', [("f", '{"a": 1}')]),
    "with a thought": ("Thought: hm\nAction: f\nAction Input: {}", [("f", "{}")]),
    "several": (
        'Action: f\nAction Input: {"a": 1}\nAction: g\nAction Input: {}',
        [("f", '{"a": 1}'), ("g", "{}")],
    ),
    "no input": ("Action: f", [("f", "")]),
    "no input, then another": ("Action: f\nAction: g\nAction Input: {}", [("f", ""), ("g", "{}")]),
    "input without action": ("Action Input: {}", []),
    "a second input is not a second call": (
        "Action: f\nAction Input: {}\nAction Input: []",
        [("f", "{}")],
    ),
    "json over several lines": (
        'Action: f\nAction Input: {\n  "a": 1\n}\nThought: done',
        [("f", '{\n  "a": 1\n}')],
    ),
    "nothing after an invented observation": (
        "Action: f\nAction Input: {}\nObservation: 5\nAction: g\nAction Input: {}",
        [("f", "{}")],
    ),
    "an invented observation first": ("Observation: 5\nAction: f\nAction Input: {}", []),
    "bold labels": ("**Action:** f\n**Action Input**: {}", [("f", "{}")]),
    "headings": ("### Action: f\n### Action Input: {}", [("f", "{}")]),
    "a fenced input stays as written": (
        "Action: f\nAction Input: ```json\n{}\n```",
        [("f", "```json\n{}\n```")],
    ),
    "a decorated name stays as written": ("Action: `f`\nAction Input: {}", [("`f`", "{}")]),
    "indented": ("  Action :  f  \n\tAction Input:\n{}", [("f", "{}")]),
    "inside of a line is no label": ("My Action: f", []),
    "other case is no label": ("action: f\naction input: {}", []),
    "an action beats a final answer": (
        "Action: f\nAction Input: {}\nFinal Answer: 5",
        [("f", "{}")],
    ),
    "an answer": ("Thought: I know.\nFinal Answer: <answer>5</answer>", []),
    "nothing": ("", []),
    "an action without a name": ("Action:\nAction Input: {}", [("", "{}")]),
}


@pytest.mark.parametrize(("text", "calls"), TEXTS.values(), ids=TEXTS)
def test_the_text_call_format(text: str, calls: list[tuple[str, str]]) -> None:
    read = read_calls(CallFormat.TEXT, Reply(text), 3)
    assert [(call.name, call.arguments) for call in read] == calls
    assert [call.id for call in read] == [f"turn3_call{n + 1}" for n, _ in enumerate(calls)]


def test_the_native_call_format_reads_no_text() -> None:
    call = RawCall("x", "f", "{}")
    reply = Reply("Action: g\nAction Input: {}", (call,))
    assert read_calls(CallFormat.NATIVE, reply, 1) == (call,)
    assert [c.name for c in read_calls(CallFormat.TEXT, reply, 1)] == ["g"]


NAMES = st.from_regex(r"[A-Za-z_][\w.]{0,8}", fullmatch=True)
ARGUMENTS = st.dictionaries(st.text(max_size=5), st.text(max_size=8) | st.integers(), max_size=3)
THOUGHTS = st.text(st.characters(exclude_characters=":"), max_size=20).filter(
    lambda text: not text.endswith("\\")
)


@given(THOUGHTS, st.lists(st.tuples(NAMES, ARGUMENTS), max_size=4), st.booleans())
def test_what_is_written_is_read_again(
    thought: str, calls: list[tuple[str, dict[str, object]]], pretty: bool
) -> None:
    raws = tuple(
        RawCall(f"turn1_call{n}", name, json.dumps(value, indent=2 if pretty else None))
        for n, (name, value) in enumerate(calls, start=1)
    )
    assert read_calls(CallFormat.TEXT, Reply(write_calls(thought, raws)), 1) == raws


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer> 5\n</answer>", "5"),
        ("<answer>4</answer><answer>5</answer>", "5"),
        ("<answer>4</answer> <answer>5", "4"),
        ("in <answer> tags: <answer>5</answer>", "5"),
        ("<answer></answer>", ""),
        ("<answer>5", None),
        ("<Answer>5</Answer>", None),
        ("5", None),
        ("<answer>" * 20_000, None),
    ],
)
def test_tagged_answer(text: str, answer: str | None) -> None:
    assert tagged_answer(text) == answer
