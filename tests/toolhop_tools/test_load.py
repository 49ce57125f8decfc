from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.toolhop_tools.rows import row, write
from toolhop_tools.benchmarks.toolhop.reader import SOURCE
from toolhop_tools.errors import BadChoice, DataError, DataNotFetched, DataNotFound
from toolhop_tools.load import load, select, survey
from toolhop_tools.model import DataSet
from toolhop_tools.readers import fetch

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def twenty(tmp_path: Path) -> DataSet:
    ids = [f"{'even' if number % 2 == 0 else 'odd'}-{number}" for number in range(1, 21)]
    return load(write(tmp_path, [row(id=identity) for identity in ids]))


def ids(dataset: DataSet, **choice: object) -> list[str]:
    return [item.id for item in select(dataset, **choice)]  # type: ignore[arg-type]


# --- load


def test_a_path_is_read_by_text_or_path(tmp_path: Path) -> None:
    path = write(tmp_path, [row()], "mine.json")
    assert load(path) == load(str(path))
    assert load(path).name == "mine"
    assert load(path).origin == str(path)


def test_a_path_is_read_by_the_benchmark_whose_rows_it_has(tmp_path: Path) -> None:
    own = {name: json.loads((GOLDEN / f"{name}_own.json").read_text())
           for name in ("nestools", "toolbehonest", "relytoolbench")}  # fmt: skip
    lines = "\n".join(map(json.dumps, own["nestools"]["rows"]))
    (tmp_path / "plain.jsonl").write_text(lines)
    (tmp_path / "plain.json").write_text(json.dumps(own["toolbehonest"]["rows"], indent=1))
    (tmp_path / "sets").mkdir()
    for name, rows in own["relytoolbench"]["sets"].items():
        (tmp_path / "sets" / f"{name}.json").write_text("\ufeff" + json.dumps(rows))
    found = {
        name: {item.benchmark for item in survey(tmp_path / name).dataset.items}
        for name in ("plain.jsonl", "plain.json", "sets", "sets/G1_instruction.json")
    }
    assert found == {
        "plain.jsonl": {"nestools"},
        "plain.json": {"toolbehonest"},
        "sets": {"relytoolbench"},
        "sets/G1_instruction.json": {"relytoolbench"},
    }


def test_a_folder_of_no_kind_names_the_files_in_it(tmp_path: Path) -> None:
    write(tmp_path, [row()], "mine.json")
    with pytest.raises(DataError) as fault:
        load(tmp_path)
    assert "one of the files in it: mine.json" in fault.value.fix


def test_skip_broken_leaves_broken_rows_out(tmp_path: Path) -> None:
    path = write(tmp_path, [row(), row(id=8, question=None)])
    with pytest.raises(DataError, match="1 error in 1 row"):
        load(path)
    assert [item.id for item in load(path, skip_broken=True).items] == ["7"]


@pytest.mark.parametrize("name", ["nope.json", "a" * 300, "a\0b", "", "builtin/x"])
def test_what_is_not_there_says_what_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError):
        load(name)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(DataNotFound, match=r"did you mean toolhop\?.*\n.*builtin, toolhop, n"):
        load("tolhop")


def test_toolhop_is_read_from_the_cache_if_it_is_the_pinned_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLHOP_CACHE", str(tmp_path))
    with pytest.raises(DataNotFetched, match="toolhop data fetch"):
        load("toolhop")
    SOURCE.path.write_text(json.dumps([row()]), encoding="utf-8")
    with pytest.raises(DataNotFetched, match="not the pinned file"):
        load("toolhop")
    monkeypatch.setattr(fetch, "is_pinned", lambda *_: True)
    assert load("toolhop").name == "toolhop"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, [row()])
    path.chmod(0)
    with pytest.raises(DataError, match="Permission denied"):
        load(path)


# --- folders

TOOL = {
    "name": "born",
    "description": "d",
    "parameters": {"type": "object", "properties": {"who": {"type": "string"}}},
}
HOPS: list[dict[str, object]] = [
    {"question": "When?", "answer": "1815", "tool": "b/born", "arguments": {"who": "Ada"}},
    {"question": "And?", "answer": "1815", "tool": "a/born"},
]
ITEM = {
    "id": "history-1",
    "domain": "History",
    "question": "When was Ada born?",
    "answer": "1815",
    "answer_type": "number",
    "hops": HOPS,
}


def folder(root: Path, *, item: object = ITEM, tool: object = TOOL) -> Path:
    for name in ("b", "a", "empty"):
        (root / name).mkdir()
    (root / "b" / "items.json").write_text(json.dumps([item]))
    (root / "a" / "items.json").write_text(json.dumps([ITEM | {"id": "z"}]))
    for name in ("a", "b"):
        (root / name / "born.json").write_text(json.dumps(tool))
        (root / name / "born.py").write_text(f"def born(who): return '{name}'")
    return root


def test_a_folder_is_a_data_set(tmp_path: Path) -> None:
    dataset = load(folder(tmp_path))
    assert dataset.name == tmp_path.name
    assert [item.id for item in dataset.items] == ["z", "history-1"]
    first, second = dataset.by_id["history-1"].hops
    assert first.gold is not None
    assert (first.gold.arguments, first.gold.source) == ({"who": "Ada"}, "written")
    assert second.gold is None
    assert [first.tool.name, second.tool.name] == ["born", "born_2"]
    assert second.tool.program.source == "def born(who): return 'a'"


@pytest.mark.parametrize(
    ("hop", "message"),
    [
        ({"tool": "b/none"}, "b/none: expected a file b/none.json; given none"),
        ({"tool": "../b/born"}, 'hops[0].tool: expected <folder>/<tool>; given "../b/born"'),
        ({"tool": "born"}, "hops[0].tool: expected <folder>/<tool>"),
        ({"tool": ...}, "hops[0].tool: expected text that is not blank; given nothing"),
        ({"answer": None}, "hops[0].answer: expected an answer as text; given null"),
        ({"arguments": []}, "hops[0].arguments: expected an object; given an empty list"),
        (5, "hops[0]: expected an object; given the number 5"),
    ],
)
def test_a_folders_broken_hop_is_named(tmp_path: Path, hop: object, message: str) -> None:
    if isinstance(hop, dict):
        whole = {**HOPS[0], **hop}
        hop = {key: value for key, value in whole.items() if value is not ...}
    root = folder(tmp_path, item=ITEM | {"hops": [hop]})
    with pytest.raises(DataError) as caught:
        load(root)
    assert message in str(caught.value)
    assert [item.id for item in load(root, skip_broken=True).items] == ["z"]


def test_a_folders_broken_files_are_all_named(tmp_path: Path) -> None:
    root = folder(tmp_path, tool=TOOL | {"name": "other"})
    (root / "empty" / "items.json").write_text("[\n{,}]")
    (root / "a" / "born.py").write_bytes(b"\xff")
    with pytest.raises(DataError) as caught:
        load(root)
    told = [f"{problem.where} {problem.field}" for problem in caught.value.problems]
    assert told == [
        "empty/items.json line 2, column 2 ",
        "b/born name",
        "a/born.py line 1 ",
        "id z hops[0].tool",
        "id z hops[1].tool",
        "id history-1 hops[0].tool",
        "id history-1 hops[1].tool",
    ]


def test_a_folder_without_items_is_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no folder in it has an items\.json"):
        survey(tmp_path)


# --- select


@pytest.mark.parametrize(
    ("limit", "first", "last"),
    [
        (None, 1, 20),
        ("5", 1, 5),
        ("10-12", 10, 12),
        ("3-3", 3, 3),
        ("19-40", 19, 20),
        ("99", 1, 20),
    ],
)
def test_limits_count_from_one_and_include_both_ends(
    twenty: DataSet, limit: str | None, first: int, last: int
) -> None:
    numbers = [int(identity.split("-")[1]) for identity in ids(twenty, limit=limit)]
    assert numbers == list(range(first, last + 1))


@pytest.mark.parametrize("limit", ["0", "-5", "5-", "9-3", "0-3", "x", "", "1.5", "1-2-3", "٣"])
def test_other_limits_are_refused(twenty: DataSet, limit: str) -> None:
    with pytest.raises(BadChoice, match="give a count such as 10, or a range such as 10-20"):
        select(twenty, limit=limit)


def test_a_range_behind_the_end_is_refused(twenty: DataSet) -> None:
    with pytest.raises(BadChoice, match="limit 21-30 leaves nothing of 20 items"):
        select(twenty, limit="21-30")


def test_ids_and_patterns_keep_the_data_sets_order(twenty: DataSet) -> None:
    assert ids(twenty, sample_ids=("odd-3", "even-2", "odd-3")) == ["even-2", "odd-3"]
    assert ids(twenty, sample_ids=("even-*",), limit="2") == ["even-2", "even-4"]


def test_an_unknown_id_is_answered_with_the_nearest(twenty: DataSet) -> None:
    with pytest.raises(BadChoice, match=r"no item 'od-3'.* nearest ids are odd-3"):
        select(twenty, sample_ids=("od-3",))
    with pytest.raises(BadChoice, match=r"its 20 ids are odd-1 … even-20"):
        select(twenty, sample_ids=("zzz*",))
