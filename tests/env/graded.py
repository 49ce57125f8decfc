"""A benchmark that is not ToolHop: a judge marks the answer, and the gold is no chain."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.env.made import finished
from toolhop_env import benchmarks
from toolhop_env.benchmark import Benchmark
from toolhop_env.measures import Measure, Scorer, Unit
from toolhop_env.questions import Answers, Question, SimilarityQuestion, digest
from toolhop_env.runs.judgements import Judgement, Judgements
from toolhop_env.score import Values
from toolhop_env.trace import Called, Trace
from toolhop_sandbox.outcome import JSON


def _wanted(gold: JSON) -> str:
    return str(gold["wanted"]) if isinstance(gold, dict) else ""


def _questions(trace: Trace) -> Sequence[Question]:
    return [SimilarityQuestion("near", _wanted(trace.started.gold), trace.final_text or "")]


def _score(trace: Trace, answers: Answers) -> Values:
    mark, wanted = answers.get("near"), _wanted(trace.started.gold)
    return {
        "mark": None if mark is None else (float(str(mark)), 1.0),
        "strict": (float(trace.final_text == wanted), 1.0),
        "official": (float(wanted in (trace.final_text or "")), 1.0),
        "attempt": (float(len(trace.calls)), 4.0),
    }


GRADED = Benchmark(
    name="graded",
    title="Graded",
    version="1",
    modes=("plain",),
    measures=(
        Measure("mark", "A judge's mark.", unit=Unit.POINTS, leads=True),
        Measure("strict", "The text is the gold.", scorer=Scorer.STRICT, binary=True),
        Measure("official", "The text has the gold.", scorer=Scorer.OFFICIAL, binary=True),
        Measure("attempt", "Calls of those that are needed."),
    ),
    gold=lambda item: dict(item.gold),
    score=_score,
    questions=_questions,
    expected=_wanted,
)


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """The benchmark, known by its name."""
    monkeypatch.setitem(benchmarks.BENCHMARKS.own, GRADED.name, "tests.env.graded:GRADED")
    return GRADED


def answered(text: str, *calls: Called, wanted: str = "Oslo", **changes: object) -> Trace:
    """A finished episode of it."""
    named: dict[str, object] = {"benchmark": "graded", "gold": {"wanted": wanted}, "mode": "plain"}
    return finished(*calls, text=text, **named | changes)


def marked(*traces: tuple[Trace, float]) -> Judgements:
    """A judge's marks."""
    said = Judgements()
    for trace, mark in traces:
        (question,) = _questions(trace)
        said.add([Judgement(trace.started.episode, "near", digest(question), "j", mark)])
    return said
