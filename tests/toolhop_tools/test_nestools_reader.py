"""NesTools' files as they are: every fault named by row and field, and what lies beside them."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from toolhop_tools.errors import DataError
from toolhop_tools.load import load, survey
from toolhop_tools.perturb.perturbation import Perturbation, perturbed
from toolhop_tools.readers import native

OWN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "nestools_own.json").read_text()
)


Rows = list[dict[str, Any]]


def written(folder: Path, files: Mapping[str, Rows] | None = None, *, ids: bool = True) -> Path:
    """The data file of our own rows, with files beside it by name."""
    beside = {"test_data-2": OWN["rows"], **({"test_api_ids-2": OWN["ids"]} if ids else {})}
    for name, rows in (beside | dict(files or {})).items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "test_data-2.jsonl"


def test_rows_become_items_that_a_run_can_keep(tmp_path: Path) -> None:
    data = load(str(written(tmp_path)))
    first = data.items[0]
    assert (first.id, first.domain, first.extra["field"]) == ("1", "Travel", "Travel/Ferries")
    assert [tool.facts["id"] for tool in first.tools.values()] == [11, 12, 13]
    types = first.tools["book_seat"].schema.parameters["properties"]
    assert isinstance(types, dict)
    assert types["names"] == {"type": "array", "description": "the names"}
    again = native.from_rows(map(native.to_row, data.items), name="run", origin="")
    assert again.items == data.items


def test_without_ids_tools_have_numbers_of_their_own(tmp_path: Path) -> None:
    found = survey(str(written(tmp_path, ids=False)))
    assert [problem.rule for problem in found.problems] == ["no-ids"]
    ids = [t.facts["id"] for item in found.dataset.items for t in item.tools.values()]
    assert ids == [1, 2, 3, 4, 5, 6]


FAULTS = [
    (("api", 0, "parameters", "day", "type"), 7, "api[0].parameters.day"),
    (("api", 1, "required"), ["ferry", "price"], "api[1].required"),
    (("api", 1, "api_name"), "find_ferry", "api[1]"),
    (("api", 2), 7, "api[2]"),
    (("call", 1, "api_name"), "fly", "call[1].api_name"),
    (("call", 0, "responses"), ["API_call_0"], "call[0].responses"),
    (("call", 0, "parameters"), [], "call[0].parameters"),
    (("call",), [], "call"),
    (("task",), " ", "task"),
]


@pytest.mark.parametrize(("place", "value", "field"), FAULTS, ids=[case[2] for case in FAULTS])
def test_a_fault_is_named_by_row_and_field(
    tmp_path: Path, place: tuple[str | int, ...], value: object, field: str
) -> None:
    rows = copy.deepcopy(OWN["rows"])
    part: Any = rows[0]
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    path = written(tmp_path, {"test_data-2": rows})
    found = survey(str(path))
    assert ("id 1", field) in [(one.where, one.field) for one in found.errors]
    assert [item.id for item in found.dataset.items] == ["2"]
    done = toolhop("data", "validate", "--data", str(path))
    assert (done.returncode, field in done.stdout) == (1, True)


def test_ids_that_do_not_fit_are_errors(tmp_path: Path) -> None:
    ids = [{"test_id": 1, "api_ids": [1, 2, 2]}, OWN["ids"][1]]
    errors = survey(str(written(tmp_path, {"test_api_ids-2": ids}))).errors
    assert [(one.where, one.field) for one in errors] == [("id 1", "test_api_ids.api_ids")]
    assert "list of 3" in str(errors[0])


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="data fetch nestools"):
        survey("nestools:")
    done = toolhop("data", "validate", "--data", f"nestools:{tmp_path / 'absent.jsonl'}")
    assert done.returncode == 2


def official_prompt(row: int, ids: list[int]) -> str:
    """A prompt as the official code writes it: an example, then Python's text of the list."""
    apis = [
        {"api_name": api["api_name"], "api_id": number, **api}
        for api, number in zip(OWN["rows"][row]["api"], ids, strict=True)
    ]
    other = {**apis[0], "api_name": "find_train", "api_id": 77}
    text = str([apis[2], other, apis[0], other, apis[1]])
    return f'Reply as [{{"api_name": __, "api_id": __}}].\n\nAPIs:\n{text}\n\nTask:\n…'


def test_the_tools_of_official_prompts_are_shown(tmp_path: Path) -> None:
    prompts = [
        {"test_id": row + 1, "prompt": official_prompt(row, OWN["ids"][row]["api_ids"])}
        for row in (0, 1)
    ]
    data = load(str(written(tmp_path, {"test_prompt": prompts})))
    tools = data.items[0].tools
    assert [*tools] == ["print_ticket", "find_train", "find_ferry", "find_train_2", "book_seat"]
    assert [tool.facts["id"] for tool in tools.values()] == [13, 77, 11, 77, 12]
    assert tools["find_train_2"].facts["api_name"] == "find_train"


def test_a_prompt_without_the_rows_tools_is_an_error(tmp_path: Path) -> None:
    prompt = official_prompt(0, OWN["ids"][0]["api_ids"])
    prompts = [{"test_id": 1, "prompt": prompt}, {"test_id": 2, "prompt": prompt}]
    errors = survey(str(written(tmp_path, {"test_prompt": prompts}))).errors
    assert [(one.where, one.field) for one in errors] == [("id 2", "test_prompt.prompt")]


def test_renamed_tools_are_renamed_in_the_gold(tmp_path: Path) -> None:
    from toolhop_env.benchmarks import named

    data = load(str(written(tmp_path)))
    how = Perturbation.parse("names=removed")
    item = perturbed(data.items, how, pool=data, seed=0)[0]
    gold: Any = named("nestools").gold(item)
    assert [call["name"] for call in gold["calls"]] == ["tool_1", "tool_2", "tool_3"]
