"""ToolBeHonest's reader: published files become twins, and each fault is named by row and field."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhop_tools.benchmarks.toolbehonest.reader import (
    UNSOLVABLE,
    survey,
    tool_table,
    without_finish,
)
from toolhop_tools.errors import DataError
from toolhop_tools.load import load
from toolhop_tools.load import survey as survey_any

OWN = Path(__file__).parents[1] / "golden" / "toolbehonest_own.json"
ROWS: list[dict[str, Any]] = json.loads(OWN.read_text())["rows"]
ERROR = "wrong-type"
TEXTS = ("subtask", "task", "tools", "unsolvable_task", "unsolvable_tools")
PLANS = ("planning_tools", "planning_tools_unsolvable")


def written(folder: Path, rows: object, name: str = "rows.json") -> Path:
    path = folder / name
    path.write_text(rows if isinstance(rows, str) else json.dumps(rows, ensure_ascii=False))
    return path


def test_an_object_becomes_twins_of_one_family(tmp_path: Path) -> None:
    data = load(f"toolbehonest:{written(tmp_path, ROWS)}")
    assert [item.id for item in data.items[:4]] == [
        "single_step-0-solvable", "single_step-0-unsolvable",
        "multi_step_wo_rep-0-solvable", "multi_step_wo_rep-0-unsolvable",
    ]  # fmt: skip
    solvable, unsolvable = data.items[:2]
    assert solvable.gold["family"] == unsolvable.gold["family"] == "single_step-0"
    assert (solvable.gold["plan"], unsolvable.gold["plan"]) == (["Bell"], [UNSOLVABLE])
    assert solvable.question != unsolvable.question, "one is not to be taken for the other"
    assert ROWS[0]["unsolvable_tools"] in unsolvable.question
    assert [item.extra["language"] for item in data.items] == ["en"] * 6 + ["zh"] * 2
    assert dict(solvable.tools) == {}


def test_numbers_count_within_the_subtask_and_over_broken_rows(tmp_path: Path) -> None:
    rows = [copy.deepcopy(ROWS[0]) for _ in range(3)]
    rows[0]["task"], rows[2]["task"] = None, "Ring twice."
    found = survey(written(tmp_path, rows))
    assert {item.gold["family"] for item in found.dataset.items} == {
        "single_step-1",
        "single_step-2",
    }
    assert [str(one) for one in found.problems] == [
        "row 1: task: expected text that is not blank; given null"
    ]


def test_lines_are_read_as_well(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(row) for row in ROWS)
    assert survey(written(tmp_path, lines, "rows.jsonl")).dataset.digest == (
        survey(written(tmp_path, ROWS)).dataset.digest
    )


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("1. A: does a\n2.B：does b", {"A": "does a", "B": "does b"}),
        ("1. A : x: y", {"A ": "x: y"}),
        ("1. A: x\n2. A: y", {"A": "y"}),
        ("A: x", {}),
    ],
)
def test_tool_tables_are_read_as_by_the_official_code(text: str, table: dict[str, str]) -> None:
    assert tool_table(text) == table


def test_one_last_finish_is_no_step() -> None:
    assert without_finish(["A", "finish"]) == ["A"]
    assert without_finish(["Finish", "A"]) == ["Finish", "A"]
    assert without_finish([]) == []


Change = Callable[[dict[str, Any]], None]


def put(field: str, value: object) -> Change:
    return lambda row: row.__setitem__(field, value)


def drop(field: str) -> Change:
    return lambda row: row.__delitem__(field)


EVERY = (*TEXTS, *PLANS)
BROKEN: dict[str, tuple[Change, str, str]] = {
    **{f"{name} is missing": (drop(name), "missing", name) for name in EVERY},
    **{f"{name} is null": (put(name, None), ERROR, name) for name in EVERY},
    **{f"{name} is a number": (put(name, 7), ERROR, name) for name in EVERY},
    **{f"{name} is an object": (put(name, {"a": 1}), ERROR, name) for name in EVERY},
    **{f"{name} is blank": (put(name, "  "), ERROR, name) for name in EVERY},
    **{f"{name} is a list": (put(name, ["x"]), ERROR, name) for name in TEXTS},
    **{f"{name} is empty": (put(name, []), ERROR, name) for name in PLANS},
    **{f"{name} is a text": (put(name, "Saw"), ERROR, name) for name in PLANS},
    **{f"{name} has a number": (put(name, ["Saw", 3]), ERROR, f"{name}[1]") for name in PLANS},
    **{f"{name} has null": (put(name, [None]), ERROR, f"{name}[0]") for name in PLANS},
    **{f"{name} has a blank": (put(name, ["Saw", " "]), ERROR, f"{name}[1]") for name in PLANS},
    **{f"{name} is Finish": (put(name, ["Finish"]), "empty-plan", name) for name in PLANS},
    "subtask is unknown": (put("subtask", "multi_step"), "unknown-subtask", "subtask"),
    "subtask in capitals": (put("subtask", "OS"), "unknown-subtask", "subtask"),
    "tools without numbers": (put("tools", "Saw: saws"), "no-tool", "tools"),
    "tools without colons": (put("unsolvable_tools", "1. Saw"), "no-tool", "unsolvable_tools"),
}


@pytest.mark.parametrize("why", BROKEN)
def test_a_fault_is_named_by_row_and_field(why: str, tmp_path: Path) -> None:
    change, rule, field = BROKEN[why]
    rows = copy.deepcopy(ROWS)
    change(rows[1])
    found = survey(written(tmp_path, rows))
    assert [(one.where, one.rule, one.field) for one in found.errors] == [("row 2", rule, field)]
    assert len(found.dataset.items) == 2 * (len(ROWS) - 1)
    with pytest.raises(DataError, match="1 error in 1 row"):
        found.usable()


FOUND: dict[str, tuple[Change, str, str]] = {
    "a gold names no tool": (
        put(PLANS[0], ["Saw", "Glue", "Brush"]), "unknown-tool", f"{PLANS[0]}[1]"),
    "an unsolvable gold names the removed tool": (
        put(PLANS[1], ["Saw", UNSOLVABLE, "Nail Gun"]), "unknown-tool", f"{PLANS[1]}[2]"),
    "an unsolvable gold without a missing step": (
        put(PLANS[1], ["Saw", "Brush"]), "never-unsolvable", PLANS[1]),
    "a missing step beyond the solvable gold": (
        put(PLANS[1], ["Saw", "Brush", "Brush", UNSOLVABLE]), "no-missing-tool", f"{PLANS[1]}[3]"),
}  # fmt: skip


@pytest.mark.parametrize("why", FOUND)
def test_what_is_suspicious_is_a_finding_and_the_row_is_used(why: str, tmp_path: Path) -> None:
    change, rule, field = FOUND[why]
    rows = copy.deepcopy(ROWS)
    change(rows[1])
    found = survey(written(tmp_path, rows))
    (problem,) = [one for one in found.problems if one.rule == rule]
    assert (problem.where, problem.field) == ("row 2 (multi_step_wo_rep-0)", field)
    assert problem.level == "finding"
    assert len(found.dataset.items) == 2 * len(ROWS)


def test_a_row_that_stands_twice_is_a_finding(tmp_path: Path) -> None:
    found = survey(written(tmp_path, [*ROWS, ROWS[0]]))
    assert [(one.where, one.rule) for one in found.problems] == [("row 5", "same-row")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a JSON file"),
        ("{", "not a JSON file"),
        ("[]", "has no items"),
        ('{"os": {"level_1": []}}', "results by subtask"),
        ('{"tasks": []}', "one JSON list of rows"),
        ('{"subtask": "os"}\n{"subtask": "os"}\n', "name the file .jsonl"),
        ('[{"subtask": NaN}]', "a number that JSON and Python can hold"),
    ],
)
def test_another_file_is_refused_with_the_reason(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        survey(written(tmp_path, text))


def test_rows_of_other_kinds_are_named(tmp_path: Path) -> None:
    found = survey(written(tmp_path, [1, None, "x", [], ROWS[0]]))
    assert [(one.where, one.rule) for one in found.errors] == [
        (f"row {number}", "wrong-type") for number in (1, 2, 3, 4)
    ]
    assert len(found.dataset.items) == 2


def test_the_data_is_not_shipped() -> None:
    with pytest.raises(DataError):
        survey_any("toolbehonest")
    with pytest.raises(DataError, match="data fetch toolbehonest"):
        survey_any("toolbehonest:")
