"""What becomes of a judge's answers: kept one by one, and only where they are answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest

from tests.env.made import finished
from toolhop_agents.judge import ask
from toolhop_agents.judge.judges import Judge, ModelJudge, NoAnswer, Overlap, Panel, Said
from toolhop_agents.models.base import ConversationTooLong, ModelFault
from toolhop_env.benchmark import Benchmark
from toolhop_env.guarded import BenchmarkFault
from toolhop_env.measures import Measure
from toolhop_env.messages import Message, Reply, Usage
from toolhop_env.questions import (
    Answers,
    LlmQuestion,
    Question,
    SimilaritiesQuestion,
    SimilarityQuestion,
)
from toolhop_env.runs.judgements import Judgement, Judgements
from toolhop_env.spending import Spent
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
}
ASKED = [LlmQuestion(name, f"Is {name} right?", SCHEMA) for name in ("first", "second", "third")]
TRACE = finished()
FollowUps: TypeAlias = Callable[[Trace, Answers], Sequence[Question]]


class Saying:
    """A judge that gives what it is made with, by question."""

    name = "saying"

    def __init__(self, answers: Mapping[str, JSON | Exception]) -> None:
        self.answers = answers

    async def answer(self, question: Question) -> Said | None:
        said = self.answers[question.id]
        if isinstance(said, Exception):
            raise said
        return Said(self.name, said)


class Writing:
    """A model that replies with the texts it is made with."""

    name = "writing"

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        return Reply(self.texts.pop(0), usage=Usage(3, 2))


def judged(
    judge: Judge,
    questions: Sequence[Question],
    monkeypatch: pytest.MonkeyPatch,
    follow_ups: FollowUps = lambda trace, answers: (),
) -> tuple[list[Judgement], Spent, Exception | None]:
    lead = Measure("right", "It is right.", binary=True, leads=True)
    one = Benchmark(
        "made", "Made", "1", ("m",), (lead,), lambda item: None, lambda t, a: {},
        questions=lambda trace: questions, follow_ups=follow_ups,
    )  # fmt: skip
    monkeypatch.setattr(ask, "named", lambda name: one)
    found: list[Judgement] = []
    spent: list[Spent] = []

    async def go() -> Exception | None:
        try:
            async for judgement, took in ask.judged(TRACE, judge, {}):
                found.extend([judgement] if judgement else [])
                spent.append(took)
        except (ModelFault, BenchmarkFault) as error:
            return error
        return None

    fault = anyio.run(go)
    return found, sum(spent, Spent()), fault


def test_answers_before_a_fault_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Saying({"first": {"ok": True}, "second": {"ok": False}, "third": ModelFault("down")})
    found, _, fault = judged(judge, ASKED, monkeypatch)
    assert [(one.question, one.answer) for one in found] == [
        ("first", {"ok": True}), ("second", {"ok": False}),
    ]  # fmt: skip
    assert isinstance(fault, ModelFault)


def test_a_question_too_long_for_the_judge_stays_open_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    long = ConversationTooLong("9,000 tokens")
    judge = Saying({"first": {"ok": True}, "second": long, "third": {"ok": True}})
    found, _, fault = judged(judge, ASKED, monkeypatch)
    assert ([one.question for one in found], fault) == (["first", "third"], None)
    assert "'second' of" in caplog.text
    assert "stays open: 9,000 tokens" in caplog.text


def test_what_does_not_fit_the_schema_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    judge = Saying({"first": {"okay": 3}, "second": "yes", "third": {"ok": True}})
    found, _, fault = judged(judge, ASKED, monkeypatch)
    assert [one.question for one in found] == ["third"]
    assert fault is None
    assert "no valid answer to 'first'" in caplog.text


@pytest.mark.parametrize("said", ["1", True, None, [1], float("nan"), float("inf"), 10**400])
def test_a_similarity_is_a_finite_number(said: JSON, monkeypatch: pytest.MonkeyPatch) -> None:
    alike = [SimilarityQuestion("alike", "a", "b")]
    assert judged(Saying({"alike": said}), alike, monkeypatch)[0] == []
    assert len(judged(Saying({"alike": 0.5}), alike, monkeypatch)[0]) == 1


def test_a_schema_that_is_none_is_the_benchmarks_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [LlmQuestion("first", "?", {"type": "nonsense"})]
    found, _, fault = judged(Saying({"first": {}}), asked, monkeypatch)
    assert found == []
    assert isinstance(fault, BenchmarkFault)
    assert "'first' is no JSON Schema" in str(fault)


def test_a_model_that_gives_no_valid_answer_leaves_it_open_and_is_paid_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Writing("well", '{"okay": 1}', "{", '```json\n{"ok": true}\n```')
    found, spent, fault = judged(ModelJudge(model), ASKED[:2], monkeypatch)
    assert [one.question for one in found] == ["second"]
    assert fault is None
    assert (spent.replies, spent.input_tokens) == (4, 12)


def test_an_unreadable_reply_is_no_answer_of_text() -> None:
    asked = LlmQuestion("word", "Which?", {"type": "string"})
    said = anyio.run(ModelJudge(Writing("no", "JSON", "here")).answer, asked)
    assert isinstance(said, NoAnswer)
    assert said.last == "here"


def test_a_panel_asks_the_next_judge_and_counts_both() -> None:
    panel = Panel((ModelJudge(Writing("a", "b", "c")), ModelJudge(Writing('{"ok": false}'))))
    said = anyio.run(panel.answer, ASKED[0])
    assert isinstance(said, Said)
    assert (said.answer, len(said.replies)) == ({"ok": False}, 4)
    assert anyio.run(Panel((Overlap(),)).answer, ASKED[0]) is None


def test_a_resumed_run_knows_what_the_answers_cost() -> None:
    """So that a limit on costs holds over all sessions of a run."""
    one, other = (Judgement("e", name, "d", "j", 1, cost) for name, cost in (("a", 0.5), ("b", 2)))
    kept = Judgements()
    assert kept.spent == Spent()
    kept.add([one, other])
    assert kept.spent.cost_usd == 2.5
    kept.add([Judgement("f", "a", "d", "j", 1, None)])
    assert kept.spent.cost_usd is None, "a price that is not known makes the sum unknown"


def test_a_mistyped_judge_is_a_message(tmp_path: Path) -> None:
    from tests.agents.command import toolhop

    done = toolhop("run", "--limit", "1", "--sandbox", "process", "--judge", "overlpa",
                   "--log-dir", str(tmp_path))  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "there is no judge 'overlpa'; give overlap" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("said", [[0.5], [0.5, True], [0.5, "1"], 0.5, [0.5, float("nan")], None])
def test_similarities_are_as_many_finite_numbers_as_there_are_texts(
    said: JSON, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = [SimilaritiesQuestion("alike", "a", ("b", "c"))]
    assert judged(Saying({"alike": said}), alike, monkeypatch)[0] == []
    (found,) = judged(Saying({"alike": [0.5, -1]}), alike, monkeypatch)[0]
    assert found.answer == [0.5, -1]


def test_a_judge_of_similarity_is_asked_for_several_pair_by_pair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alike = [SimilaritiesQuestion("alike", "a b", ("a b", "b", "c"))]
    (found,) = judged(Overlap(), alike, monkeypatch)[0]
    assert (found.judge, found.answer) == ("overlap", [1.0, pytest.approx(2 / 3), 0.0])


def test_what_is_asked_next_follows_from_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of three; the second answer ends it or goes on."""
    first, second, third = ASKED[:3]
    chain = {first.id: second, second.id: third}

    def follow_ups(_: Trace, answers: Answers) -> Sequence[Question]:
        return [after for before, after in chain.items() if answers.get(before) == {"ok": True}]

    asked: dict[str, JSON | Exception] = {
        "first": {"ok": True},
        "second": {"ok": False},
        "third": {"ok": True},
    }
    found = judged(Saying(asked), [first], monkeypatch, follow_ups=follow_ups)[0]
    assert [one.question for one in found] == ["first", "second"]
    asked["second"] = {"ok": True}
    found = judged(Saying(asked), [first], monkeypatch, follow_ups=follow_ups)[0]
    assert [one.question for one in found] == ["first", "second", "third"]
