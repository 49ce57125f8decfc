"""Traces of older formats: read as ever, and scored as ever."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from env.formats import FormatError, Step, checked, upgraded
from env.messages import Origin
from env.score import Score
from env.spending import Spent, spent
from env.summary import judge
from env.trace import FORMAT, Trace, from_lines, to_line
from env.trace_formats import m001_replies_have_an_origin
from sandbox.outcome import JSON

SAMPLES = Path(__file__).parents[1] / "agents" / "samples"
FORMAT_1 = sorted((SAMPLES / "run_format_1" / "episodes").glob("*.jsonl"))
SCORES_1 = SAMPLES / "run_format_1.scores.jsonl"


def read(path: Path) -> Trace:
    with path.open("rb") as file:
        return from_lines(file)


@pytest.mark.parametrize("path", FORMAT_1, ids=lambda path: path.stem)
def test_a_trace_of_format_1_is_scored_as_it_was_then(path: Path) -> None:
    assert json.loads(path.read_bytes().splitlines()[0])["format"] == 1
    trace = read(path)
    assert trace.started.format == FORMAT
    assert {reply.reply.origin for reply in trace.replies} == {Origin.ASKED}
    lines = SCORES_1.read_text().splitlines()
    verdict = judge(trace).verdict
    assert isinstance(verdict, Score)
    now = json.loads(json.dumps(asdict(verdict)))
    then = {line["episode"]: line["score"] for line in map(json.loads, lines)}
    assert then[path.stem].items() <= now.items()
    assert spent(trace) == Spent(replies=5, requests=5, calls=4)


@pytest.mark.parametrize("path", FORMAT_1, ids=lambda path: path.stem)
def test_a_trace_that_was_upgraded_is_written_in_the_new_format(path: Path) -> None:
    trace = read(path)
    lines = [to_line(event) for event in trace.events]
    assert json.loads(lines[0])["format"] == FORMAT
    assert from_lines(lines) == trace


def test_a_cut_line_of_an_old_trace_is_left_out_as_of_a_new_one() -> None:
    lines = FORMAT_1[0].read_bytes().splitlines(keepends=True)
    assert len(from_lines([*lines[:3], lines[3][:50]]).events) == 3


def test_the_first_step_changes_replies_and_the_number_alone() -> None:
    other: dict[str, JSON] = {"kind": "called", "turn": 1, "feedback": "x"}
    assert m001_replies_have_an_origin(other) == other
    reply: dict[str, JSON] = {"content": "", "usage": {"input_tokens": 3}}
    made = m001_replies_have_an_origin({"kind": "replied", "turn": 1, "reply": reply})
    assert made["reply"] == {
        "content": "",
        "usage": {"input_tokens": 3, "prompt_cached_tokens": 0},
        "origin": "asked",
    }
    assert reply == {"content": "", "usage": {"input_tokens": 3}}


def test_steps_are_taken_from_the_version_found() -> None:
    steps: list[Step] = [
        lambda document: {**document, "one": True},
        lambda document: {**document, "two": True},
    ]
    assert upgraded({}, 1, steps) == {"one": True, "two": True}
    assert upgraded({}, 2, steps) == {"two": True}
    assert upgraded({}, 3, steps) == {}
    assert checked(3, steps, "x") == 3
    for wrong in (4, 0, -1, "1", None, True):
        with pytest.raises(FormatError, match="the x has format"):
            checked(wrong, steps, "x")
