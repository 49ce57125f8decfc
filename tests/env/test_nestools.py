"""NesTools' scorers: against what the official code counted, and against cases of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.env.made import finished, started
from toolhop_env.benchmarks import named, score
from toolhop_env.benchmarks.nestools.counts import (
    ERRORS,
    TOOL_ERRORS,
    Counts,
    NestedCall,
    errors,
    official,
    strict,
    tool_errors,
)
from toolhop_env.benchmarks.nestools.scorer import gold_calls
from toolhop_env.benchmarks.nestools.shape import OTHER, depth, labelled, structure
from toolhop_env.benchmarks.nestools.values import (
    Predicted,
    calls_in,
    credit,
    iso_date,
    literal,
    rouge_l,
    same_value,
)
from toolhop_env.measures import Scorer
from toolhop_env.score import Score
from toolhop_env.trace import Ended, Ending, Trace
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Item

OWN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "nestools_own.json").read_text()
)
BENCHMARK = named("nestools")
CALL = '[{"api_name": "find_ferry", "api_id": 11, "parameters": {"harbour": %s}}]'


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    folder = tmp_path_factory.mktemp("own")
    for name, rows in (("test_data", OWN["rows"]), ("test_api_ids", OWN["ids"])):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return load(f"nestools:{folder / 'test_data.jsonl'}")


@pytest.fixture(scope="module")
def golden(nestools_500: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (nestools_500.parents[1] / "golden" / "nestools.json").read_text()
    )
    return found


@pytest.fixture(scope="module")
def rows(nestools_500: Path) -> DataSet:
    return load(str(nestools_500))


def answered(item: Item, text: str) -> Trace:
    gold = BENCHMARK.gold(item)
    return finished(text=text, benchmark="nestools", gold=gold, mode="base", question=item.question)


def plain(counts: Counts) -> list[list[float]]:
    four = (counts.selection, counts.order, counts.param, counts.nested)
    return [[one.correct, one.predicted, one.gold] for one in four]


@pytest.mark.parametrize("number", ["True", "11.0", "'11'", "[11]", "11"])
def test_strictly_an_id_is_the_whole_number_that_the_tool_has(own: DataSet, number: str) -> None:
    gold = gold_calls(BENCHMARK.gold(own.by_id["1"]))
    text = f'[{{"api_name": "find_ferry", "api_id": {number}, "parameters": {{}}}}]'
    assert strict(gold, calls_in(text)).selection.correct == (number == "11")


def test_a_number_without_a_text_stops_the_official_code_and_not_ours(own: DataSet) -> None:
    for value in ("0x1" + "0" * 20_000, f"[{{1: 0x1{'0' * 20_000}}}]"):
        verdict = score(answered(own.by_id["1"], CALL % value))
        assert isinstance(verdict, Score)
        assert verdict.value("official_raises") == 1.0
        assert verdict.value("tree") is None
        assert verdict.value("strict_selection_p") == 1.0
    # In decimal neither Python nor JSON reads it: the format is invalid.
    verdict = score(answered(own.by_id["1"], CALL % ("1" * 20_000)))
    assert isinstance(verdict, Score)
    assert (verdict.value("official_raises"), verdict.value("format")) == (0.0, 0.0)


@pytest.mark.parametrize("case", OWN["cases"], ids=[case["says"] for case in OWN["cases"]])
def test_our_own_cases(own: DataSet, case: dict[str, Any]) -> None:
    item = own.by_id[str(case["row"])]
    gold, predicted = gold_calls(BENCHMARK.gold(item)), calls_in(case["answer"])
    assert plain(strict(gold, predicted)) == case["strict"]
    verdict = score(answered(item, case["answer"]))
    assert isinstance(verdict, Score)
    assert [verdict.value(name) for name in ("tree", "strict_tree")] == case["tree"]
    assert verdict.value("strict_format") == case.get("format", 1)
    assert verdict.value("tool_error_format") == 1 - case.get("format", 1)
    assert verdict.value("official_raises") == (case["official"] is None)
    if case["official"] is not None:
        assert plain(official(gold, predicted)) == case["official"]
        found = errors(gold, predicted, item.question)
        assert {name: count for name, count in found.items() if count} == case.get("errors", {})


def test_our_own_items_have_the_shapes_that_we_gave_them(own: DataSet) -> None:
    found = [BENCHMARK.facets(BENCHMARK.gold(item)) for item in own.items]
    assert found == [
        {"depth": str(deep), "structure": labelled(kind)} for deep, kind in OWN["shapes"]
    ]


def test_structures_are_shown_with_their_arrows() -> None:
    shown = [labelled(number) for number in ("0", "1", "7", "10", "17", OTHER)]
    assert shown == [
        "0 (1→2, 2→3)", "1 (1→2, 3)", "7 (1→3, 2→3)", "10 (1, 2)", "17 (1)", "other",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["a", "b"], (0, 0, 0, 0)),
        (["a"], (0, 1, 0, 0)),
        (["a", "c"], (1, 0, 0, 0)),
        (["a", "b", "c"], (0, 0, 1, 0)),
        (["a", "b", "a"], (0, 0, 1, 0)),
        (["a", "made_up"], (0, 1, 0, 1)),
        (["c", "d", "c", "made_up"], (2, 0, 1, 1)),
        ([], (0, 2, 0, 0)),
    ],
)
def test_the_five_categories_of_tool_errors(
    names: list[str], wanted: tuple[int, int, int, int]
) -> None:
    gold = [NestedCall(name, number, {}, {}) for number, name in enumerate("ab")]
    predicted: list[Predicted] = [
        {"api_name": name, "api_id": "abcd".find(name[0]) if len(name) == 1 else 9,
         "parameters": {}} for name in names
    ]  # fmt: skip
    parts = tool_errors(gold, predicted, ["a", "b", "c", "d"])
    given = float(len(names))
    assert parts == {
        "selection": (wanted[0], 2.0), "omission": (wanted[1], 2.0),
        "redundancy": (wanted[2], given), "hallucination": (wanted[3], given),
        "format": (0.0, 1.0),
    }  # fmt: skip
    unread = tool_errors(gold, None, [])
    assert unread == {**dict.fromkeys(TOOL_ERRORS), "format": (1.0, 1.0)}


def test_an_episode_without_a_reply_is_skipped_officially_and_wrong_strictly(own: DataSet) -> None:
    item = own.items[0]
    trace = Trace(
        (
            started(benchmark="nestools", gold=BENCHMARK.gold(item), mode="base"),
            Ended(Ending.STOPPED, 0.0),
        )
    )
    verdict = score(trace)
    assert isinstance(verdict, Score)
    assert verdict.value("format") is None
    assert verdict.value("strict_format") == 0
    assert verdict.values["strict_selection_r"] == (0.0, 3.0)


def test_every_measure_has_a_value_for_every_answer(own: DataSet) -> None:
    names = {one.name for one in BENCHMARK.measures if not one.mean_of}
    for case in OWN["cases"]:
        verdict = score(answered(own.by_id[str(case["row"])], case["answer"]))
        assert isinstance(verdict, Score)
        assert verdict.values.keys() == names


def test_official_and_strict_measures_stand_beside_each_other() -> None:
    topics = {
        scorer: [one.topic for one in BENCHMARK.measures if one.scorer is scorer and one.topic]
        for scorer in (Scorer.OFFICIAL, Scorer.STRICT)
    }
    assert topics[Scorer.OFFICIAL] == topics[Scorer.STRICT]


@pytest.mark.parametrize(
    "answer",
    [
        "[" * 5000 + "]" * 5000,
        "[" + "9" * 5000 + "]",
        "[{'api_name': 1, 'api_id': {1}, 'parameters': {2: b'x', (1,): {3}}}]",
        "[{'api_name': '\\d', 'api_id': 1e999, 'parameters': {'a': ...}}] \x00",
        "\ud800[]",
        CALL % ("[" * 900 + "]" * 900),
        CALL % ("0x" + "f" * 5000),
    ],
    ids=[
        *("deep", "long number", "odd values", "odd texts", "half a character"),
        *("deep value", "long value"),
    ],
)
def test_no_answer_stops_the_scorer(own: DataSet, answer: str) -> None:
    assert isinstance(score(answered(own.items[0], answer)), Score)


@pytest.mark.parametrize(
    ("gold", "given", "same"),
    [
        (5, 5.0, True),
        (5, "5", False),
        (True, 1, False),
        (1, True, False),
        (" Oslo", "oslo.", True),
        ("1,000", "1000", True),
        ("May 12, 2022", "2022/05/12", True),
        ([1, "A"], [1.0, "a"], True),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": "X"}, {"b": "x", "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        (None, None, True),
    ],
)
def test_strict_values(gold: object, given: object, same: bool) -> None:
    assert same_value(gold, given) is same


def test_rouge_of_sentences_in_another_order() -> None:
    """Each word once, over all sentences: 4 words in common of 4 and 5."""
    assert rouge_l("c d. a b", "a b. c d e") == pytest.approx(2 * (1 * 0.8) / 1.8)


# What follows needs the data, and the counts that the official code made of it.


def test_official_counts_of_every_row_of_every_scenario(
    golden: dict[str, Any], rows: DataSet
) -> None:
    wrong, seen = [], 0
    for scenario in golden["scenarios"]:
        pairs = zip(scenario["predictions"], scenario["per_row_counts"], strict=True)
        for (test_id, text), counts in pairs:
            if counts is None:
                continue
            item = rows.by_id[str(test_id)]
            gold, predicted = gold_calls(BENCHMARK.gold(item)), calls_in(text)
            found, errs = official(gold, predicted), errors(gold, predicted, item.question)
            flat = [number for three in plain(found) for number in three]
            ours = [1, int(predicted is not None), *flat, int(found.tree), *map(errs.get, ERRORS)]
            seen += 1
            if [one or 0 for one in ours] != counts:
                wrong.append((scenario["name"], test_id, ours, counts))
    assert (seen, wrong) == (473, [])


def test_official_values(golden: dict[str, Any]) -> None:
    for case in golden["check_score_cases"]:
        assert credit(case["gold"], case["pred"]) == case["effective_score"], case


def test_official_parsing(golden: dict[str, Any]) -> None:
    for case in golden["check_string_cases"]:
        try:
            found: object = literal(case["in"])
        except ValueError:
            assert not case["ok"], case
            continue
        if isinstance(found, tuple):
            found = {"tuple": list(found)}
        elif isinstance(case["out"], dict):
            found = {"python_repr": repr(found)}
        assert case["ok"], case
        assert json.loads(json.dumps(found)) == case["out"]


def test_official_dates(golden: dict[str, Any]) -> None:
    assert [iso_date(given) for given, _ in golden["normalize_date_cases"]] == [
        wanted for _, wanted in golden["normalize_date_cases"]
    ]


def test_official_depth_and_structure(golden: dict[str, Any], rows: DataSet) -> None:
    golds = [gold_calls(BENCHMARK.gold(item)) for item in rows.items]
    found = [[depth(gold), structure(gold)] for gold in golds]
    wanted = [
        [deep, "other" if kind is None else str(kind)]
        for deep, kind in golden["depth_and_structure"]["values"]
    ]
    assert found == wanted
