"""RelyToolBench's reader: rows become items, schemas have the official form, faults are named."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.benchmarks.relytoolbench.reader import (
    NAME_CHARS,
    Options,
    group_of,
    kind_of,
    options_of,
    survey,
)
from toolhop_tools.benchmarks.relytoolbench.replies import filled, response, service_name
from toolhop_tools.errors import DataError
from toolhop_tools.load import load
from toolhop_tools.load import survey as survey_any
from toolhop_tools.model import Item, RecordedTable, canonical
from toolhop_tools.readers import native
from toolhop_tools.readers.record import Survey

OWN = Path(__file__).parents[1] / "golden" / "relytoolbench_own.json"
SETS: dict[str, list[dict[str, Any]]] = json.loads(OWN.read_text())["sets"]
ROWS = SETS["G1_instruction"]


def written(folder: Path, rows: object, name: str = "G1_instruction.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(rows))
    return path


def read(folder: Path, rows: object, **options: Any) -> Survey:
    return survey(written(folder, rows), Options(**options))


def table(item: Item, name: str) -> RecordedTable:
    body = item.tools[name].body
    assert isinstance(body, RecordedTable)
    return body


def test_a_folder_of_sets_is_read_whole(tmp_path: Path) -> None:
    for name, rows in SETS.items():
        written(tmp_path, rows, f"{name}.json")
    written(tmp_path, {"1": 0}, "test_query_ids.json")
    data = load(f"relytoolbench:{tmp_path}")
    assert [(item.id, item.answer_type) for item in data.items] == [
        ("G1_instruction-1", "solvable"),
        ("G1_instruction_missing_all_arguments-1", "missing"),
        ("G1_instruction_with_unmatched_tools-1", "unmatched"),
        ("G1_instruction_with_unmatched_tools-2", "unmatched"),
    ]
    assert [item.gold["relevant"] for item in data.items][2:] == [[], ["weather_for_sky"]]
    assert list(data.items[0].tools)[-1] == "Finish"
    rows = [native.to_row(item) for item in data.items]
    assert (
        native.from_rows(json.loads(json.dumps(rows)), name="x", origin="x").digest == data.digest
    )


@pytest.mark.parametrize(
    ("name", "kind", "group"),
    [
        ("G1_instruction", "solvable", "G1_instruction"),
        ("G2_category_missing_all_arguments", "missing", "G2_category"),
        ("G3_instruction_with_unmatched_tools", "unmatched", "G3_instruction"),
        ("G1_instruction_missing_arguments", "solvable", "G1_instruction"),
        ("mine", "solvable", "mine"),
    ],
)
def test_a_sets_name_tells_kind_and_group(name: str, kind: str, group: str) -> None:
    assert (kind_of(name), group_of(name)) == (kind, group)


def test_schemas_have_the_official_form_bug_included(tmp_path: Path) -> None:
    (item,) = read(tmp_path, ROWS).dataset.items
    weather, users = (item.tools[name].schema for name in ("weather_for_sky", "is_id_for_people"))
    assert weather.parameters == {
        "type": "object",
        "properties": {
            "days": {"type": "integer", "description": "", "example_value": 3},
            "city": {"type": "string", "description": "", "example_value": "Oslo"},
        },
        "required": ["city"],
        "optional": ["days"],
    }
    assert users.parameters["properties"] == {}, "an API without required parameters shows none"
    (fixed,) = read(tmp_path, ROWS, schemas="fixed").dataset.items
    assert "page" in str(fixed.tools["is_id_for_people"].schema.parameters["properties"])
    assert item.gold["numbers"] == {
        "weather_for_sky": ["days"],
        "rain_last_year_for_sky": ["lat"],
        "is_id_for_people": ["page"],
    }


@pytest.mark.parametrize(
    ("text", "plain", "reserved"),
    [
        ("Songkick concert", "songkick_concert", "songkick_concert"),
        ("  Kick.com API | Kick API ", "kick_com_api_kick_api", "kick_com_api_kick_api"),
        ("168predict", "get_168predict", "get_168predict"),
        ("ID", "id", "is_id"),
        ("from", "from", "is_from"),
        ("__a--b__", "a_b", "a_b"),
        ("中文 x", "中文_x", "中文_x"),
        ("!", "", ""),
    ],
)
def test_names_are_made_as_in_toolbench(text: str, plain: str, reserved: str) -> None:
    assert (service_name(text), service_name(text, reserved=True)) == (plain, reserved)


def test_long_names_keep_their_end_and_equal_ones_get_a_number(tmp_path: Path) -> None:
    rows = copy.deepcopy(ROWS)
    for number, api in enumerate(rows[0]["api_list"][:2]):
        api.update(api_name=f"{'x' * 9}{number} the {'very ' * 12}same", tool_name="Sky")
    rows[0]["relevant APIs"] = []
    rows[0]["relevant APIs"] = [["People", "id"]]
    found = read(tmp_path, rows)
    assert [problem.rule for problem in found.problems] == ["same-name"]
    names = list(found.dataset.items[0].tools)
    assert len(set(names)) == 4
    assert names[1] == f"{names[0][: NAME_CHARS - 4]}_2"


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ({"a": "str", "b": "int", "c": "float", "d": "bool", "e": "NoneType"},
         {"a": "sample", "b": 1, "c": 1.5, "d": True, "e": None}),
        ([{"a": "int", "_list_length": 2}], [{"a": 1}, {"a": 1}]),
        ([{"a": "int", "_list_length": 40}], [{"a": 1}] * 3),
        (["list of str with length 8"], ["sample"] * 3),
        ("list of int with length 1", [1]),
        (["empty list"], []), ("empty list", []), ([], []),
        ('{"a": "int"}', {"a": 1}), ('{"a": "in', '{"a": "in'),
        ("No data.", "No data."), (None, None), (7, 7),
    ],
)  # fmt: skip
def test_a_template_is_filled_with_values_of_its_types(form: JSON, value: JSON) -> None:
    assert filled(form) == value


def test_a_long_response_is_cut() -> None:
    assert response({"a": 1}) == {"error": "", "response": {"a": 1}}
    cut = response(["x" * 2000])["response"]
    assert isinstance(cut, str)
    assert len(cut) == 1024 + 3


def test_recorded_replies_are_found_whatever_the_order_of_their_keys(tmp_path: Path) -> None:
    home = tmp_path / "cache" / "Weather" / "sky"
    home.mkdir(parents=True)
    replies = {
        "{'days': 2, 'city': 'Oslo'}": {"error": "", "response": "cold"},
        "{'city': 'Oslo', 'days': None}": {"error": "bad days", "response": ""},
        "": "plain", "nonsense(": {}, "[1]": {},
    }  # fmt: skip
    (home / "weather.json").write_text(json.dumps(replies))
    path = written(tmp_path, ROWS)
    found = survey_any(f"relytoolbench:{path}?replies={tmp_path / 'cache'}")
    weather = table(found.dataset.items[0], "weather_for_sky")
    assert weather.recorded({"city": "Oslo", "days": 2}) == Returned(
        '{"error": "", "response": "cold"}'
    )
    assert weather.recorded({"days": None, "city": "Oslo"}) == Returned(
        '{"error": "bad days", "response": ""}'
    )
    assert weather.recorded({}) == Returned('{"error": "", "response": "plain"}')
    assert weather.recorded({"city": "Bergen"}) is None
    assert [problem.rule for problem in found.problems] == ["bad-key", "bad-key"]
    assert found.dataset.digest != survey_any(f"relytoolbench:{path}").dataset.digest


def test_replies_without_a_template_are_errors(tmp_path: Path) -> None:
    (item,) = read(tmp_path, ROWS).dataset.items
    assert (table(item, "weather_for_sky").made, table(item, "is_id_for_people").made) == (
        True,
        False,
    )
    default = table(item, "is_id_for_people").default
    assert isinstance(default, Returned)
    assert json.loads(default.json_text)["error"]
    assert canonical({}) not in table(item, "is_id_for_people").results


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x.json?sets=a", "no option 'sets'"),
        ("x.json?schemas=mine", "give published or fixed"),
        ("x.json?replies=/nowhere/at/all", "no such folder"),
        ("", "data fetch relytoolbench"),
    ],
)
def test_what_is_no_option_is_refused(text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        survey_any(f"relytoolbench:{text}")


def test_the_set_may_be_told_by_an_option(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS, "mine.json")
    where, options = options_of(f"{path}?set=G1_instruction_missing_all_arguments")
    (item,) = survey(where, options).dataset.items
    assert item.id == "G1_instruction_missing_all_arguments-1"
    assert item.gold["kind"] == "missing"


Change = Callable[[dict[str, Any]], object]


def put(*path: str | int, value: object) -> Change:
    def change(row: dict[str, Any]) -> None:
        place: Any = row
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def drop(*path: str | int) -> Change:
    def change(row: dict[str, Any]) -> None:
        place: Any = row
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


API = ("api_list", 1)
PARAMETER = (*API, "required_parameters", 0)
AT = "api_list[1]"
ERROR = "wrong-type"
LISTED = '["relevant APIs"]'
IN = f"{AT}.required_parameters"
WORDS: tuple[Any, ...] = (None, 7, " ")
OTHERS: tuple[Any, ...] = (None, 7, "a")
LIST: list[Any] = []
OBJECT: dict[str, Any] = {}
BROKEN: dict[str, tuple[Change, str, str]] = {
    **{f"query is {value!r}": (put("query", value=value), ERROR, "query")
       for value in (*WORDS, ["a"], OBJECT)},
    "query is missing": (drop("query"), "missing", "query"),
    **{f"api_list is {value!r}": (put("api_list", value=value), ERROR, "api_list")
       for value in (*OTHERS, LIST, {"a": 1})},
    "api_list is missing": (drop("api_list"), "missing", "api_list"),
    **{f"an API is {value!r}": (put(*API, value=value), ERROR, AT)
       for value in (*OTHERS, ["a"])},
    **{f"{name} is {value!r}": (put(*API, name, value=value), ERROR, f"{AT}.{name}")
       for name in ("tool_name", "api_name") for value in WORDS},
    **{f"{name} is missing": (drop(*API, name), "missing", f"{AT}.{name}")
       for name in ("tool_name", "api_name")},
    **{f"{name} is {value!r}": (put(*API, name, value=value), ERROR, f"{AT}.{name}")
       for name in ("required_parameters", "optional_parameters") for value in (*OTHERS, OBJECT)},
    **{f"a parameter is {value!r}": (put(*PARAMETER, value=value), ERROR, f"{IN}[0]")
       for value in (*OTHERS, LIST)},
    **{f"a parameter's {name} is {value!r}":
       (put(*PARAMETER, name, value=value), ERROR, f"{IN}[0].{name}")
       for name in ("name", "type") for value in (None, 7, "")},
    "a parameter has no type": (drop(*PARAMETER, "type"), "missing", f"{IN}[0].type"),
    "a description is a number":
        (put(*PARAMETER, "description", value=7), ERROR, f"{IN}[0].description"),
    **{f"relevant APIs is {value!r}": (put("relevant APIs", value=value), ERROR, LISTED)
       for value in (*OTHERS, LIST)},
    **{f"a relevant API is {value!r}":
       (put("relevant APIs", 0, value=value), ERROR, '["relevant APIs[0]"]')
       for value in (*OTHERS, ["Sky"], ["Sky", 1], ["Sky", "a", "b"])},
    "a relevant API is not there":
        (put("relevant APIs", 0, value=["Sky", "fog"]), "unknown-api", LISTED),
}  # fmt: skip


@pytest.mark.parametrize("why", BROKEN)
def test_a_fault_is_named_by_row_and_field(why: str, tmp_path: Path) -> None:
    change, rule, field = BROKEN[why]
    rows = [copy.deepcopy(ROWS[0]), {**copy.deepcopy(ROWS[0]), "query_id": 2}]
    change(rows[1])
    found = read(tmp_path, rows)
    first = found.errors[0]
    assert (first.where, first.rule, first.field) == ("id 2", rule, field)
    assert [item.id for item in found.dataset.items] == ["G1_instruction-1"]


def test_a_row_needs_an_id_of_its_own(tmp_path: Path) -> None:
    nameless = {key: value for key, value in ROWS[0].items() if key != "query_id"}
    found = read(tmp_path, [ROWS[0], nameless, ROWS[0], 7])
    assert [(one.where, one.rule) for one in found.errors] == [
        ("row 2", "no-id"), ("row 3", "duplicate-id"), ("row 4", ERROR),
    ]  # fmt: skip


@pytest.mark.data
def test_the_published_sets_are_read_whole() -> None:
    found = survey_any(f"relytoolbench:{SHARED / 'relytoolbench'}")
    assert (len(found.dataset.items), found.errors) == (163 + 99 + 163, ())
    assert {problem.rule for problem in found.problems} == {"same-name"}
    g1 = [item for item in found.dataset.items if item.gold["set"] == "G1_instruction"]
    apis = [tool for item in g1 for tool in item.others if tool.name != "Finish"]
    assert len(apis) == 862
    assert sum(isinstance(t.body, RecordedTable) and t.body.made for t in apis) == 592
    unmatched = [item for item in found.dataset.items if item.gold["kind"] == "unmatched"]
    assert all(item.gold["relevant"] == [] for item in unmatched), "of this group none is mixed up"
