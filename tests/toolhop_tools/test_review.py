from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolhop_tools.rows import AGE, YEAR, Row, row, schema, write
from toolhop_tools import review
from toolhop_tools.benchmarks.toolhop import reader as official


def found(folder: Path, *rows: Row) -> list[str]:
    seen = official.survey(write(folder, list(rows)))
    assert not seen.errors
    return [problem.rule for problem in (*seen.problems, *review.findings(seen.dataset))]


FOUND: dict[str, tuple[Row, list[str]]] = {
    "clean": ({}, []),
    "number-answer": (
        {"answer": 36, "sub_task": {YEAR: 1815, AGE: "36"}},
        ["number-answer", "number-answer"],
    ),
    "blank-answer": ({"sub_task": {YEAR: " ", AGE: "36"}}, ["blank-answer"]),
    "no-labels": ({"domain": "", "answer_type": ""}, ["no-label", "no-label"]),
    "last-answer": ({"answer": "37"}, ["last-answer"]),
    "last-answer-case": ({"answer": "AB", "sub_task": {YEAR: "1815", AGE: " ab"}}, []),
    "shared-name": (
        {
            "tools": {YEAR: schema("ask", "who"), AGE: schema("ask", "a")},
            "functions": ["def ask(who): return 1", "def ask(a): return 2"],
        },
        ["shared-name"],
    ),
    "not-python": ({"functions": ["def born(who:", row()["functions"][1]]}, ["not-python"]),
    "module": (
        {"functions": ["def born(who):\n  import requests", row()["functions"][1]]},
        ["policy"],
    ),
    "async": ({"functions": ["async def born(who): pass", row()["functions"][1]]}, ["policy"]),
    "parameter": (
        {
            "tools": {YEAR: schema("born", "währung"), AGE: row()["tools"][AGE]},
            "functions": ["def born(währung): pass", row()["functions"][1]],
        },
        ["provider-name"],
    ),
    "OpenAI's form": (
        {"tools": {q: {"type": "function", "function": t} for q, t in row()["tools"].items()}},
        [],
    ),
    "no-entry": ({"functions": ["def other(): pass", row()["functions"][1]]}, ["no-entry"]),
    "nested-entry": (
        {"functions": ["def other():\n  def born(who): pass", row()["functions"][1]]},
        ["no-entry"],
    ),
    "not-first": (
        {"functions": ["def other(): pass\ndef born(who): pass", row()["functions"][1]]},
        ["not-first"],
    ),
    "extra-property": (
        {"functions": ["def born(whom=1): pass", row()["functions"][1]]},
        ["signature"],
    ),
    "needed": ({"functions": ["def born(who, how): pass", row()["functions"][1]]}, ["signature"]),
    "keywords": ({"functions": ["def born(**all): pass", row()["functions"][1]]}, []),
    "keyword-only": (
        {"functions": ["def born(*, who, how): pass", row()["functions"][1]]},
        ["signature"],
    ),
}


@pytest.mark.parametrize(("changes", "rules"), FOUND.values(), ids=FOUND)
def test_findings(tmp_path: Path, changes: Row, rules: list[str]) -> None:
    assert found(tmp_path, row(**changes)) == rules


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({"name": "two words"}, ["provider-name"]),
        ({"name": "a" * 65}, ["provider-name"]),
        ({"name": "größe"}, ["provider-name"]),
        ({"description": ""}, ["no-label"]),
        ({"strict": True}, ["unknown-field"]),
        ({"parameters": {"properties": {}}}, ["no-type"]),
        (
            {"parameters": {"type": "object", "properties": {}, "required": ["a"]}},
            ["required-unknown"],
        ),
    ],
)
def test_findings_on_a_tool(tmp_path: Path, changes: Row, rules: list[str]) -> None:
    tool = schema("ask", "a") | changes
    one = row(
        sub_task={AGE: "36"}, tools={AGE: tool}, functions=[f"def {tool['name']}(a=1): return a"]
    )
    assert [
        rule for rule in found(tmp_path, one) if rule not in {"not-python", "no-entry"}
    ] == rules


@pytest.mark.data
def test_real_rows_findings(toolhop_60: Path) -> None:
    seen = official.survey(toolhop_60)
    listed = [(found.rule, found.where) for found in review.findings(seen.dataset)]
    assert seen.problems == ()
    shared = [where for rule, where in listed if rule == "shared-name"]
    assert shared == ["id 127", "id 269", "id 436"]
    assert len([rule for rule, _ in listed if rule == "signature"]) == 7
    assert len(listed) == 10
