from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.toolhop_tools.rows import AGE, YEAR, Row, row, schema, write
from toolhop_sandbox.outcome import JSON
from toolhop_tools import review
from toolhop_tools.benchmarks.toolhop import reader as official
from toolhop_tools.errors import PRINTED, DataError, DataNotFound, DataProblem


def problems(folder: Path, rows: object) -> tuple[DataProblem, ...]:
    with pytest.raises(DataError) as caught:
        official.read(write(folder, rows))
    return caught.value.problems


# --- files


def test_json_lines_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    expected = official.read(write(tmp_path, [row(), row(id="b")])).items
    lines = tmp_path / "rows.jsonl"
    lines.write_text(f"{json.dumps(row())}\n\n{json.dumps(row(id='b'))}\n", encoding="utf-8")
    assert official.read(lines).items == expected
    marked = tmp_path / "marked.json"
    marked.write_text(json.dumps([row(), row(id="b")]), encoding="utf-8-sig")
    assert official.read(marked).items == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"id": 1,\n  "question" 5}]', "line 2, column 14: expected JSON"),
        (b"[1, 2", "line 1, column 6: expected JSON (',' delimiter); given the end of the text"),
        (b"", "line 1, column 1: expected JSON (value); given the end of the text"),
        (b'[{"a": "NaN",\n "b": NaN}]', "line 2, column 7: expected a number"),
        (b'["1e999", 1e999]', "line 1, column 11: expected a number"),
        (b"[" + b"9" * 5000 + b"]", "line 1, column 2: expected a number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'["\\ud800"]', "expected Unicode text; given the lone surrogate U+D800"),
        (b'[{"caf\xe9": 1}]', "line 1: expected UTF-8 text; given byte 0xe9 at offset 6"),
        ("[1]".encode("utf-16"), "expected UTF-8 text; given UTF-16"),
        (b'{"id": 1}', "expected one JSON list of rows; given an object"),
        (b'{"id": 1}\n{"id": 2}\n', "given an object a line; name the file .jsonl"),
        (b'"text"', 'expected one JSON list of rows; given "text"'),
        (b"[]", "has no items; give a file with at least one"),
    ],
)
def test_what_is_no_data_file_says_so(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        official.read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_every_broken_line_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{{]\n{json.dumps(row())}\n\n[NaN]\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        official.read(path)
    places = [problem.where for problem in caught.value.problems]
    assert places == ["line 1, column 2", "line 4, column 2"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match="no such file"):
        official.read(tmp_path / "none.json")


# --- broken rows

BROKEN: dict[str, tuple[Row, str]] = {
    "question-missing": ({"question": ...}, "question: expected text that is not blank; given no"),
    "question-blank": ({"question": " "}, "question: expected text that is not blank; given blank"),
    "answer-null": ({"answer": None}, "answer: expected an answer as text; given null"),
    "answer-bool": ({"answer": True}, "answer: expected an answer as text; given true"),
    "domain-list": ({"domain": []}, "domain: expected text; given an empty list"),
    "sub-task-list": ({"sub_task": [1]}, "sub_task: expected an object; given a list of 1"),
    "no-sub-tasks": (
        {"sub_task": {}, "tools": {}},
        "sub_task: expected at least one sub-question; given none",
    ),
    "tools-missing": ({"tools": ...}, "tools: expected an object; given nothing"),
    "sub-answer-missing": (
        {"sub_task": {AGE: "36"}},
        'tools["When was Ada born?"]: expected a sub-answer of the same key; given none',
    ),
    "tool-missing": (
        {"tools": {AGE: schema("minus", "a")}},
        'sub_task["When was Ada born?"]: expected a tool of the same key; given none',
    ),
    "sub-answer-null": (
        {"sub_task": {YEAR: None, AGE: "36"}},
        'sub_task["When was Ada born?"]: expected an answer as text; given null',
    ),
    "one-function": (
        {"functions": ["def born(who): return 1"]},
        "functions: expected 2 functions, as many as tools; given 1",
    ),
    "functions-empty": ({"functions": []}, "functions: expected a list that is not empty"),
    "function-number": ({"functions": ["x", 5]}, "functions[1]: expected Python source as text"),
    "gold-count": ({"gold_calls": [None]}, "gold_calls: expected 2 entries, one a function"),
    "gold-text": ({"gold_calls": [None, "x"]}, "gold_calls[1]: expected an object or null"),
    "gold-arguments": (
        {"gold_calls": [None, {"arguments": 5, "source": "x"}]},
        "gold_calls[1].arguments: expected an object; given the number 5",
    ),
}


@pytest.mark.parametrize(("changes", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_row_names_its_field(tmp_path: Path, changes: Row, message: str) -> None:
    broken = {key: value for key, value in row(**changes).items() if value is not ...}
    (problem,) = problems(tmp_path, [broken])
    assert str(problem).startswith(f"id 7: {message}")


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ("text", 'expected a tool schema; given "text"'),
        (
            schema("minus") | {"name": ...},
            ".name: expected text that is not blank; given nothing",
        ),
        (schema("minus", parameters=...), ".parameters: expected an object; given nothing"),
        (schema("minus", parameters=[]), ".parameters: expected an object; given an empty list"),
        (
            schema("minus", parameters={"type": "string"}),
            '.parameters.type: expected "object"; given "string"',
        ),
        (
            schema("minus", parameters={"type": "object", "properties": {"a": {"type": "real"}}}),
            ".parameters.properties.a.type: expected a valid JSON Schema; given",
        ),
        (
            schema("minus", parameters={"type": "object", "$ref": "http://localhost:9/x"}),
            ".parameters: expected a valid JSON Schema; given Resource 'http://localhost:9/x'",
        ),
        (
            schema("minus", parameters={"type": "object", "$schema": "http://localhost:9/x"}),
            ".parameters: expected a valid JSON Schema; given Unknown meta-schema",
        ),
    ],
)
def test_a_broken_tool_document_names_its_field(tmp_path: Path, tool: object, message: str) -> None:
    if isinstance(tool, dict):
        tool = {key: value for key, value in tool.items() if value is not ...}
    broken = row(tools={YEAR: schema("born", "who"), AGE: tool})
    (problem,) = problems(tmp_path, [broken])
    assert message in str(problem)
    assert str(problem).startswith('id 7: tools["How old was Ada?"]')


def test_every_broken_row_is_listed_by_id_or_place(tmp_path: Path) -> None:
    rows = [
        row(question=5, answer=None),
        "text",
        row(id=None),
        row(id=True),
        row(id="x", functions=None),
        row(id="good"),
        row(id="good"),
        row(id=8),
        row(id="8"),
    ]
    listed = problems(tmp_path, rows)
    assert [(problem.where, problem.field) for problem in listed] == [
        ("id 7", "question"),
        ("id 7", "answer"),
        ("row 2", ""),
        ("row 3", "id"),
        ("row 4", "id"),
        ("id x", "functions"),
        ("row 7", "id"),
        ("row 9", "id"),
    ]
    assert listed[-1].given == '"8", the id of row 8 too'


def test_the_list_of_problems_is_cut_with_a_count(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        official.read(write(tmp_path, [{} for _ in range(PRINTED + 9)]))
    lines = str(caught.value).splitlines()
    assert lines[0].endswith(f"{PRINTED + 9} errors in {PRINTED + 9} rows")
    assert lines[-1] == "  and 9 more, not listed here"
    assert len(lines) == PRINTED + 2
    assert len(caught.value.problems) == PRINTED + 9


def test_usable_rows_are_there_beside_broken_ones(tmp_path: Path) -> None:
    seen = official.survey(write(tmp_path, [row(question=5), row(id="good")]))
    assert [item.id for item in seen.dataset.items] == ["good"]
    assert seen.usable(skip_broken=True) is seen.dataset
    with pytest.raises(DataError):
        seen.usable()


# --- anything at all

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
FIELD = st.sampled_from([*official.FIELDS, "other"])
MUTATED = st.dictionaries(FIELD, JSON_VALUES, max_size=3).map(lambda changes: row() | changes)
SCHEMAS = st.dictionaries(
    st.sampled_from(["type", "properties", "required", "$ref", "$schema", "pattern", "items"]),
    JSON_VALUES | st.just("object"),
)
ODD_TOOLS = st.fixed_dictionaries(
    {"name": st.text(max_size=3) | st.just("born"), "parameters": SCHEMAS}
).map(lambda tool: row(tools={YEAR: tool, AGE: schema("minus", "a", "b")}))
ODD_CODE = st.lists(st.text(max_size=20), min_size=2, max_size=2).map(lambda f: row(functions=f))


@settings(deadline=None, max_examples=300)
@given(st.lists(JSON_VALUES | MUTATED | ODD_TOOLS | ODD_CODE, max_size=3) | JSON_VALUES)
@example([row(functions=["\0", "("])])
def test_any_json_gives_a_data_set_or_a_data_error(value: object) -> None:
    rows = value if isinstance(value, list) else [value]
    seen = official.survey_rows(
        [(f"row {number}", cast("JSON", one)) for number, one in enumerate(rows)],
        name="x",
        origin="x",
    )
    str(DataError("x", seen.problems))
    review.findings(seen.dataset)
    if seen.dataset.items:
        official.to_rows(seen.dataset)


@settings(deadline=None, max_examples=200)
@given(content=st.binary(max_size=60) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_file_gives_a_data_set_or_a_data_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("any.json", "any.jsonl"):
        (folder / name).write_bytes(content)
        try:
            official.read(folder / name)
        except DataError as error:
            str(error)
