"""What becomes of a judge's answers: kept one by one, and only where they are answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest

from tests.env.made import finished
from toolhop_agents.judge import ask
from toolhop_agents.judge.judges import (
    REPAIR,
    Judge,
    JudgeError,
    Mechanical,
    ModelJudge,
    NoAnswer,
    Overlap,
    Panel,
    Said,
    labels,
)
from toolhop_agents.models.base import ConversationTooLong, ModelFault
from toolhop_env.benchmark import Benchmark, Judging
from toolhop_env.guarded import BenchmarkFault
from toolhop_env.measures import Measure
from toolhop_env.messages import Message, Reply, Usage
from toolhop_env.questions import (
    Answers,
    LlmQuestion,
    Question,
    SimilaritiesQuestion,
    SimilarityQuestion,
    digest,
)
from toolhop_env.runs.judgements import Judgement, Judgements, to_line
from toolhop_env.spending import Spent
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

pytestmark = pytest.mark.usefixtures("inline_module")

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


def asking(
    questions: Sequence[Question], follow_ups: FollowUps = lambda trace, answers: ()
) -> Benchmark:
    lead = Measure("right", "It is right.", binary=True, leads=True)
    return Benchmark(
        "made", "1", ("m",), (lead,), lambda item: None, lambda t, a: {},
        judging=Judging(lambda trace: questions, follow_ups),
    )  # fmt: skip


def judged(
    judge: Judge,
    questions: Sequence[Question],
    monkeypatch: pytest.MonkeyPatch,
    follow_ups: FollowUps = lambda trace, answers: (),
) -> tuple[list[Judgement], Spent, Exception | None]:
    monkeypatch.setattr(ask, "named", lambda name: asking(questions, follow_ups))
    found: list[Judgement] = []
    spent: list[Spent] = []

    async def go() -> Exception | None:
        try:
            async for judgement, took in ask.judged(TRACE, judge, Judgements()):
                found.extend([judgement] if judgement.answer is not None else [])
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
    assert "too long a text (9,000 tokens) to 'second' of e1: the question stays" in caplog.text


def test_what_does_not_fit_the_schema_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    judge = Saying({"first": {"okay": 3}, "second": "yes", "third": {"ok": True}})
    found, _, fault = judged(judge, ASKED, monkeypatch)
    assert [one.question for one in found] == ["third"]
    assert fault is None
    assert "no valid answer ({'okay': 3}) to 'first'" in caplog.text


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
    assert "'first' is not a JSON Schema" in str(fault)


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
    assert "there is no judge 'overlpa'; give mechanical, overlap" in done.stderr
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


class Failing:
    """A judge of a package, with a bug: it raises what is not a fault of a model's."""

    name = "failing"

    def __init__(self, gives: object = ZeroDivisionError("by zero")) -> None:
        self.gives = gives

    async def answer(self, question: Question) -> Said | None:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives  # type: ignore[return-value]


VERDICT: dict[str, JSON] = {"type": "object", "required": ["verdict"]}


def verdict_question(name: str = "status", by_rule: JSON = None) -> LlmQuestion:
    unsure: JSON = {"verdict": "Unsure"}
    return LlmQuestion(name, "Is it solved?", VERDICT, "llm", "answer_status", unsure, by_rule)


def test_a_judge_that_raises_leaves_that_question_open_with_the_cause(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken: dict[str, JSON | Exception] = {
        "first": {"ok": True}, "second": KeyError("price"), "third": {"ok": True},
    }  # fmt: skip
    found, _, fault = judged(Saying(broken), ASKED, monkeypatch)
    assert ([one.question for one in found], fault) == (["first", "third"], None)
    assert "raised KeyError ('price') to 'second'" in caplog.text


@pytest.mark.parametrize("gives", [ZeroDivisionError("by zero"), {"ok": True}, 3])
def test_the_others_of_a_panel_answer_where_one_fails(gives: object) -> None:
    panel = Panel((Failing(gives), Saying({"first": {"ok": True}})))
    said = anyio.run(panel.answer, ASKED[0])
    assert isinstance(said, Said)
    assert (said.judge, said.answer) == ("saying", {"ok": True})
    alone = anyio.run(Panel((Failing(gives), Overlap())).answer, ASKED[0])
    assert isinstance(alone, NoAnswer)
    assert "ZeroDivisionError (by zero)" in alone.cause or "gave a" in alone.cause


def test_rules_answer_what_they_can() -> None:
    rule: JSON = {"verdict": "Solved"}
    asked = verdict_question(by_rule=rule)
    assert anyio.run(Mechanical().answer, asked) == Said("mechanical", rule)
    assert anyio.run(Mechanical().answer, verdict_question()) is None
    assert digest(asked) == digest(verdict_question()), "a rule is nothing that is asked"


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (("Solved", "Unsolved", "Solved"), "Solved"),
        (("Solved", "Unsolved", "Unsure"), "Unsure"),
        (("Solved", "Unsolved"), "Unsure"),
        (("Solved", "?", "?", "?", "Solved"), "Solved"),
        (("?", "?", "?", "?", "?", "?"), "Unsure"),
    ],
)
def test_most_votes_count_and_a_tie_is_unsure(said: tuple[str, ...], verdict: str) -> None:
    """A vote has three tries to be one; the model says why, and each time otherwise."""
    texts = [
        "no JSON" if one == "?" else json.dumps({"verdict": one, "reason": str(number)})
        for number, one in enumerate(said)
    ]
    votes = len(said) - 2 * (said.count("?") // 3)
    given = anyio.run(ModelJudge(Writing(*texts), votes).answer, verdict_question())
    assert isinstance(given, Said)
    assert isinstance(given.answer, dict)
    assert given.answer["verdict"] == verdict
    assert given.judge == f"writing x{votes}"
    assert len(given.replies) == len(said), "all that was asked is paid for"


def test_a_tie_without_an_unsure_answer_is_none() -> None:
    model = Writing('{"ok": true}', '{"ok": false}')
    said = anyio.run(ModelJudge(model, 2).answer, ASKED[0])
    assert isinstance(said, NoAnswer)
    assert said.cause == "gave tied votes"


def test_a_model_is_told_what_was_wrong_with_its_reply() -> None:
    asked: list[Sequence[Message]] = []

    class Slow(Writing):
        async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
            asked.append(list(messages))
            return await super().reply(messages, tools)

    anyio.run(ModelJudge(Slow("well", '{"ok": true}')).answer, ASKED[0])
    first, second = asked
    assert [one.content for one in second[1:]] == ["well", REPAIR]
    assert first[0] == second[0]


def test_a_file_answers_by_digest_or_by_what_a_question_is_about(tmp_path: Path) -> None:
    one, other = verdict_question(), verdict_question("other")
    path = tmp_path / "labels.json"
    path.write_text(
        json.dumps({"answer_status": {"verdict": "Unsure"}, digest(one): {"verdict": "Solved"}})
    )
    for asked, wanted in ((one, "Solved"), (other, "Unsure")):
        judge = labels(path, "stub")
        assert judge.name.startswith("stub:labels.json#")
        assert anyio.run(judge.answer, asked) == Said(judge.name, {"verdict": wanted})
    before = judge.name
    rows = [{"digest": digest(one), "answer": None}, {"digest": digest(other), "answer": 1}]
    path.write_text(json.dumps(rows))
    assert anyio.run(labels(path).answer, one) is None, "a row without a label"
    changed = labels(path, "stub")
    assert anyio.run(changed.answer, other) == Said(changed.name, 1)
    assert changed.name != before, "other answers are another judge's"
    path.write_text("[1]")
    with pytest.raises(JudgeError, match="neither a JSON object"):
        labels(path)


def given(name: str, panel: str, answer: JSON, episode: str = "e1") -> Judgement:
    return Judgement(episode, name, digest(ASKED[0]), panel, answer, 0.1, panel)


def test_figures_are_made_of_the_answers_of_the_judge_that_answered_last(tmp_path: Path) -> None:
    kept = Judgements()
    kept.add([given("first", "one", 1), given("second", "one", 2), given("first", "two", 3)])
    assert (kept.panel, {n: j.answer for n, j in kept.of("e1").items()}) == ("two", {"first": 3})
    kept.add([given("third", "three", None)])
    assert kept.panel == "two", "a judge that only failed says nothing"
    assert kept.spent.cost_usd == pytest.approx(0.4), "all of them were paid"
    assert kept.same("one", ASKED[0]) == given("second", "one", 2)
    assert kept.same("three", ASKED[0]) is None
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(
        b"".join(to_line(given(name, "", 1)) for name in ("first", "second"))
        .replace(b'"judge":""', b'"judge":"minilm"', 1)
        .replace(b'"judge":""', b'"judge":"openai/x"')
    )
    assert Judgements.read(path).panel == "minilm,openai/x", "of older files all are one"


def test_what_was_asked_of_another_episode_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Writing('{"ok": true}')
    before = Judgements()
    one = Judgement("e0", "first", digest(ASKED[0]), "writing", {"ok": False}, 0.5, "writing")
    before.add([one])
    monkeypatch.setattr(ask, "named", lambda name: asking(ASKED[:2]))

    async def go() -> list[tuple[Judgement, Spent]]:
        return [found async for found in ask.judged(TRACE, ModelJudge(model), before)]

    (same, free), (asked, took) = anyio.run(go)
    assert (same.episode, same.answer, same.cost_usd, free) == ("e1", {"ok": False}, 0.0, Spent())
    assert (asked.answer, took.replies) == ({"ok": True}, 1)
