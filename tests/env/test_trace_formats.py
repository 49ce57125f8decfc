"""Traces of older formats: read as ever, and scored as ever."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.env.made import chain
from toolhop_env.attempt import attempt_of, counting
from toolhop_env.benchmarks.toolhop.scorer import BENCHMARK as TOOLHOP
from toolhop_env.formats import FormatError, FormatUpgrade, checked, upgraded
from toolhop_env.messages import Origin
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_env.spending import Spent, spent
from toolhop_env.summary import summarize
from toolhop_env.trace import FORMAT, Trace, from_lines, to_line
from toolhop_env.trace_formats import m001_replies_have_an_origin, m002_gold_is_the_benchmarks
from toolhop_sandbox.outcome import JSON

SAMPLES = Path(__file__).parents[1] / "agents" / "samples"
"""Runs in older formats, each with the figures that were read of it when it was played."""
TRACES = [
    pytest.param(number, path, id=f"{number}-{path.stem}")
    for number in (1, 2)
    for path in sorted((SAMPLES / f"run_format_{number}" / "episodes").glob("*.jsonl"))
]
FIRST = SAMPLES / "run_format_1" / "episodes" / "small-1_mandatory_e1_a1.jsonl"


def read(path: Path) -> Trace:
    with path.open("rb") as file:
        return from_lines(file)


def plain(value: object) -> Any:
    return json.loads(json.dumps(value))


def as_then(score: Score) -> dict[str, Any]:
    """A score of ToolHop's with the names of older versions."""
    values = score.values
    shares = ("official", "strict", "in_last_feedback")
    found = {name: TOOLHOP.measure(name).holds(score) for name in shares}
    (solved, hops), (chained, _) = values["hops_solved"] or (0, 0), values["chain"] or (0, 0)
    counts = {"hops": hops, "hops_solved": solved, "chain": chained}
    return {**plain(asdict(score.conduct)), **found, **counts}


@pytest.mark.parametrize(("number", "path"), TRACES)
def test_an_older_trace_is_scored_as_it_was_then(number: int, path: Path) -> None:
    assert json.loads(path.read_bytes().splitlines()[0])["format"] == number
    trace = read(path)
    assert (trace.started.format, trace.started.benchmark) == (FORMAT, "toolhop")
    assert {reply.reply.origin for reply in trace.replies} == {Origin.ASKED}
    verdict = attempt_of(trace).score
    assert verdict is not None
    lines = (SAMPLES / f"run_format_{number}.scores.jsonl").read_text().splitlines()
    then = {line["episode"]: line["score"] for line in map(json.loads, lines)}[path.stem]
    assert then.items() <= as_then(verdict).items()
    turns, calls = then["turns"], then["calls"]
    assert spent(trace) == Spent(replies=turns, requests=turns, calls=calls)


FIGURES = (
    *("official", "strict", "query_error", "instance_error", "hops_solved"),
    *("turns", "calls", "wall_s"),
)


@pytest.mark.parametrize("number", [1, 2])
def test_a_run_of_an_older_format_has_the_figures_that_it_had(number: int) -> None:
    store = RunStore.open(SAMPLES / f"run_format_{number}")
    then = json.loads((SAMPLES / f"run_format_{number}.summaries.json").read_text())
    now = summarize(counting(attempt_of(trace) for trace in store.traces()))
    assert [one.group.mode for one in now] == [one["mode"] for one in then]
    for one, other in zip(now, then, strict=True):
        figures = {name: one.figures[name] for name in FIGURES}
        # Intervals came later.
        plain_figures = {
            name: {part: asdict(figure)[part] for part in ("value", "stderr", "count")}
            if figure
            else None
            for name, figure in figures.items()
        }
        assert plain_figures == {name: other[name] for name in FIGURES}
        assert plain(one.errors) == other["errors"]
        assert plain(one.endings) == other["endings"]
        assert (one.episodes, one.errored) == (other["episodes"], other["void"])
        assert one.group.agent == other["player"]


@pytest.mark.parametrize(("number", "path"), TRACES)
def test_a_trace_that_was_upgraded_is_written_in_the_new_format(number: int, path: Path) -> None:
    trace = read(path)
    assert number < FORMAT
    lines = [to_line(event) for event in trace.events]
    assert json.loads(lines[0])["format"] == FORMAT
    assert from_lines(lines) == trace


def test_a_cut_line_of_an_old_trace_is_left_out_as_of_a_new_one() -> None:
    lines = FIRST.read_bytes().splitlines(keepends=True)
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


def test_the_second_step_makes_the_chain_the_gold_and_void_errored() -> None:
    started: dict[str, JSON] = {
        "kind": "started",
        "format": 2,
        "player": "p",
        "answer": "36",
        "hops": {"tools": ["born"], "answers": ["1815"]},
    }
    assert m002_gold_is_the_benchmarks(started) == {
        "kind": "started",
        "format": 3,
        "agent": "p",
        "benchmark": "toolhop",
        "gold": chain("36", [("born", "1815")]),
    }
    ended: dict[str, JSON] = {"kind": "ended", "ending": "void", "reason": "no engine"}
    assert m002_gold_is_the_benchmarks(ended) == {**ended, "ending": "errored"}
    answered: dict[str, JSON] = {"kind": "ended", "ending": "answered"}
    assert m002_gold_is_the_benchmarks(answered) == answered


def test_steps_are_taken_from_the_version_found() -> None:
    steps: list[FormatUpgrade] = [
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
