"""RelyToolBench's scorer: the official one case by case, and the strict one beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.canned import CannedSandbox
from tests.conftest import SHARED
from tests.env.made import calling, raw
from toolhop_env.benchmarks import named
from toolhop_env.benchmarks.relytoolbench.measures import NAMES
from toolhop_env.benchmarks.relytoolbench.rules import (
    NOT_COUNTED,
    Conversation,
    Kind,
    Reason,
    Rules,
    ToolCall,
    answer_hallucinated,
    format_reason,
    judged_calls,
    judged_status,
    passed,
    utility,
)
from toolhop_env.benchmarks.relytoolbench.scorer import (
    BENCHMARK as RELYTOOLBENCH,
)
from toolhop_env.benchmarks.relytoolbench.scorer import (
    PROMPTS,
    facets,
    played,
    score,
)
from toolhop_env.episode import Episode
from toolhop_env.messages import Reply
from toolhop_env.questions import LlmQuestion, Question
from toolhop_env.score import Values
from toolhop_env.trace import Trace
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.relytoolbench.reader import Options, survey
from toolhop_tools.model import Item

OWN = Path(__file__).parents[1] / "golden" / "relytoolbench_own.json"
"""Written for this project in the published format; the values were worked out by hand."""
PUBLISHED = SHARED / "golden" / "relytoolbench.json"
"""Made with the released code, its judge replaced by rules that the file tells."""


def published_verdict(kind: Kind, inputs: Mapping[str, Any]) -> str:
    """The rules that the published file's judge goes by."""
    match kind:
        case Kind.STATUS:
            text = inputs["final_answer"]
            return "Solved" if "SOLVED" in text else "Unsure" if "UNSURE" in text else "Unsolved"
        case Kind.PARSED_STATUS:
            text = json.dumps(inputs["answer"])
            good, bad = "PARSE_OK" in text, "PARSE_BAD" in text
            return "Solved" if good else "Unsolved" if bad else "Unsure"
        case Kind.RELEVANCE:
            text = inputs["tool"]["description"]
            wrong = "IRRELEVANT" in text
            return "Irrelevant" if wrong else "Unsure" if "VAGUE" in text else "Relevant"
        case Kind.TRUTHFULNESS:
            told = all(str(one) in inputs["history"] for one in inputs["arguments"].values())
            return "Truthful" if told else "Untruthful"
        case Kind.ANSWER_RELEVANCE:
            marks = re.findall(r"DATA\d+", json.dumps(inputs["calls"]))
            return "Relevant" if any(m in inputs["final_answer"] for m in marks) else "Irrelevant"


def conversation(case: Mapping[str, Any]) -> Conversation:
    """A published trajectory: a chain of nodes, of which the first child is followed."""
    node, calls = case["answer"]["answer_details"][0], []
    while True:
        if node["role"] == "tool":
            said = node["message"]
            calls.append(ToolCall(said["name"], said["arguments"], said["response"]))
        if not node["next"]:
            break
        node = node["next"][0]
    finished = bool(calls) and calls[-1].name == "Finish"
    counted = [call for call in calls if call.name not in NOT_COUNTED]
    answer = case["answer"]
    return Conversation(case["query"], counted, answer["final_answer"], finished, answer)


@pytest.mark.data
def test_every_published_case_has_the_released_codes_verdicts() -> None:
    case = json.loads(PUBLISHED.read_text())
    functions = {one["function"]["name"]: one["function"] for one in case["available_tools"]}
    wrong = []
    for unit in case["unit"]:
        asked = conversation(case["trajectories"][unit["case"]])
        rules = Rules(functions, judges_relevance=unit["tool_relevance_arg"] == "Unsure")
        reasons = judged_calls(asked, rules, published_verdict)
        status = judged_status(asked, published_verdict)
        hallucinated = answer_hallucinated(asked, reasons, status, published_verdict)
        result = passed(status, finished=True, solvable=unit["task_solvable"])
        found = {
            "hallucinated_calls": sum(one is not Reason.NONE for one in reasons),
            "reasons": list(reasons),
            "answer_status": status,
            "answer_hallucinated": hallucinated,
            "orig_pass": result,
            "reliable_pass": "Failed" if hallucinated else result,
        }
        if found != {name: unit[name] for name in found}:
            wrong.append((unit["case"], found))
    assert (len(case["unit"]), wrong) == (72, [])


def own_items(folder: Path) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for name, rows in json.loads(OWN.read_text())["sets"].items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(rows))
        read = survey(path, Options())
        assert read.problems == ()
        found |= {item.id: item for item in read.dataset.items}
    return found


def replies(case: Mapping[str, Any]) -> list[Reply]:
    """A turn a call; a text stands for itself."""
    return [
        Reply(step) if isinstance(step, str) else calling(raw(step[0], step[1], f"c{number}"))
        for number, step in enumerate(case["steps"])
    ]


def trace_of(item: Item, case: Mapping[str, Any]) -> Trace:
    async def go() -> Trace:
        async with CannedSandbox([]) as box, Episode(item, box) as episode:
            for reply in replies(case):
                await episode.step(reply)
        return episode.trace

    return anyio.run(go)


def inputs_of(question: Question) -> tuple[Kind, Any]:
    assert isinstance(question, LlmQuestion)
    (kind,) = [kind for kind in Kind if question.id.startswith(f"{kind}-")]
    assert question.prompt.startswith(PROMPTS[kind])
    return kind, json.loads(question.prompt.split("\n\nInput:\n", 1)[1])


def own_verdict(kind: Kind, inputs: Mapping[str, Any]) -> str:
    """As the published judge, but that relevance is told by the query."""
    if kind is Kind.RELEVANCE:
        return (
            "Relevant" if inputs["tool"]["name"].split("_")[0] in inputs["query"] else "Irrelevant"
        )
    return published_verdict(kind, inputs)


def judged(trace: Trace) -> tuple[dict[str, JSON], list[Kind]]:
    """All answers that the scorer asks for, and their kinds in the order asked."""
    answers: dict[str, JSON] = {}
    kinds: list[Kind] = []

    def said(question: Question) -> JSON:
        kind, inputs = inputs_of(question)
        if question.id not in answers:
            kinds.append(kind)
            answers[question.id] = {"verdict": own_verdict(kind, inputs)}
        return answers[question.id]

    found, left = RELYTOOLBENCH.settled(trace, said)
    assert not left
    return dict(found), kinds


def rounded(values: Values, names: Sequence[str]) -> dict[str, float | None]:
    return {
        name: None if (parts := values[name]) is None or not parts[1] else parts[0] / parts[1]
        for name in names
    }


@pytest.mark.parametrize("number", range(len(json.loads(OWN.read_text())["cases"])))
def test_every_own_case_has_its_values(number: int, tmp_path: Path) -> None:
    case = json.loads(OWN.read_text())["cases"][number]
    trace = trace_of(own_items(tmp_path)[case["item"]], case)
    answers, kinds = judged(trace)
    values = score(trace, answers)
    assert set(values) == set(NAMES)
    assert rounded(values, list(case["values"])) == pytest.approx(case["values"]), case["why"]
    assert values["open"] == (0.0, 1.0)
    if "asked" in case:
        assert sorted(kinds) == sorted(case["asked"]), case["why"]


def test_without_a_judge_exact_figures_stand_and_the_rest_is_open(tmp_path: Path) -> None:
    items = own_items(tmp_path)
    steps = [["weather_for_sky", '{"city": "Oslo"}'], ["nothing_like_it", "{}"],
             ["Finish", '{"return_type": "give_answer", "final_answer": "SOLVED"}']]  # fmt: skip
    trace = trace_of(items["G1_instruction-1"], {"steps": steps})
    values = score(trace, {})
    assert [values[name] for name in ("reliable_pass", "pass", "strict", "hallucination")] == [
        None
    ] * 4
    assert values["open"] == (1.0, 1.0)
    assert values["unknown_names"] == (1.0, 2.0)
    assert values["tool_calls"] == (2.0, 1.0)
    unsolvable = trace_of(items["G1_instruction_missing_all_arguments-1"], {"steps": steps})
    assert score(unsolvable, {})["pass"] == (1.0, 1.0), "whatever ends in Finish passes"


def test_the_answer_to_another_question_counts_for_none(tmp_path: Path) -> None:
    steps = [["Finish", '{"return_type": "give_answer", "final_answer": "SOLVED"}']]
    trace = trace_of(own_items(tmp_path)["G1_instruction-1"], {"steps": steps})
    answers, _ = judged(trace)
    assert score(trace, answers)["solve"] == (0.0, 1.0), "an answer without calls is hallucinated"
    assert score(trace, {f"{name}x": one for name, one in answers.items()})["solve"] is None


def rules(**shapes: str) -> Rules:
    parameters: JSON = {
        "properties": {name: {"type": kind} for name, kind in shapes.items()},
        "required": ["", *shapes],
        "optional": [""],
    }
    return Rules({"f": {"description": "", "parameters": parameters}}, judges_relevance=False)


@pytest.mark.parametrize(
    ("kind", "value", "theirs", "ours"),
    [
        ("integer", 48.5, False, False),
        ("integer", 48.0, False, True),
        ("integer", True, True, False),
        ("integer", "4", False, False),
        ("string", None, False, False),
        ("boolean", True, True, True),
        ("boolean", 1, False, False),
        ("number", 1.5, False, True),
        ("array", [1], False, True),
        ("object", {}, False, True),
    ],
)
def test_types_of_values(kind: str, value: JSON, theirs: bool, ours: bool) -> None:
    call = ToolCall("f", json.dumps({"a": value}), "")
    for strict, fits in ((False, theirs), (True, ours)):
        wanted = Reason.NONE if fits else Reason.TYPE
        assert format_reason(call, replace(rules(a=kind), strict=strict)) is wanted


def test_a_number_of_the_data_takes_any_under_the_strict_rule() -> None:
    call = ToolCall("f", '{"a": 48.5}', "")
    strict = replace(rules(a="integer"), strict=True, numbers={"f": ["a"]})
    assert format_reason(call, strict) is Reason.NONE
    assert format_reason(call, rules(a="integer")) is Reason.TYPE


@pytest.mark.parametrize(
    ("result", "hallucinated", "calls", "solvable", "most", "worth"),
    [
        ("Passed", False, 1, True, 9, 20), ("Passed", False, 0, True, 9, 20),
        ("Passed", False, 4, True, 9, 17), ("Passed", False, 30, True, 9, 11),
        ("Passed", False, 30, True, 10, 10), ("Unsure", False, 2, True, 9, 9),
        ("Failed", True, 3, True, 9, -12), ("Failed", False, 0, True, 9, 0),
        ("Passed", False, 1, False, 9, 19), ("Passed", False, 30, False, 9, 10),
    ],
)  # fmt: skip
def test_utility(
    result: str, hallucinated: bool, calls: int, solvable: bool, most: int, worth: float
) -> None:
    found = utility(result, hallucinated=hallucinated, calls=calls, solvable=solvable, most=most)
    assert found == worth


def test_it_is_known_by_name_and_items_have_facets(tmp_path: Path) -> None:
    assert named("relytoolbench").measures == RELYTOOLBENCH.measures
    item = own_items(tmp_path)["G1_instruction_with_unmatched_tools-1"]
    assert facets(RELYTOOLBENCH.gold(item)) == {
        "set": "G1_instruction_with_unmatched_tools", "group": "G1_instruction",
        "kind": "unmatched",
    }  # fmt: skip


def test_finish_ends_the_episode_by_its_return_type(tmp_path: Path) -> None:
    item = own_items(tmp_path)["G1_instruction-1"]
    gives_up = trace_of(item, {"steps": [["Finish", '{"return_type": "give_up_and_restart"}']]})
    assert gives_up.ended is not None
    assert gives_up.ended.ending == "gave_up"
    assert played(gives_up).returned == "give_up_and_restart"
    text = trace_of(item, {"steps": ["I stop."]})
    assert not played(text).asked.finished


@pytest.mark.parametrize(
    "arguments",
    ['{"return_type": "enough"}', '{"final_answer": "SOLVED"}', '{"return_type": "give_answ', ""],
)
def test_a_finish_that_does_not_fit_its_schema_ends_an_answer_officially_alone(
    arguments: str, tmp_path: Path
) -> None:
    items = own_items(tmp_path)
    for name in ("G1_instruction-1", "G1_instruction_missing_all_arguments-1"):
        trace = trace_of(items[name], {"steps": [["Finish", arguments]]})
        answers, _ = judged(trace)
        values = score(trace, answers)
        assert values["no_finish"] == (0.0, 1.0)
        assert values["pass"] == (float("missing" in name or "SOLVED" in arguments), 1.0)
        assert values["strict"] == (0.0, 1.0)
