from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.toolhop_tools.rows import AGE, COUNT, YEAR, Row, row, same_names, schema, write
from toolhop_sandbox.base import Program
from toolhop_tools.benchmarks.toolhop import reader as official
from toolhop_tools.errors import DataError
from toolhop_tools.model import DataSet, Item


def only(folder: Path, one: Row, *, last_wins: bool = False) -> Item:
    (item,) = official.read(write(folder, [one]), last_wins=last_wins).items
    return item


def programs(item: Item) -> list[tuple[str, str, Program]]:
    return [(hop.question, hop.tool.name, hop.tool.program) for hop in item.hops]


def test_a_row_becomes_an_item_with_its_hops(tmp_path: Path) -> None:
    item = only(tmp_path, row(source_url="x"))
    assert (item.id, item.question, item.answer) == ("7", "How old?", "36")
    assert (item.domain, item.answer_type) == ("History", "number")
    assert item.previous_answer_type == "person"
    assert [hop.answer for hop in item.hops] == ["1815", "36"]
    assert list(item.tools) == ["born", "minus"]
    assert item.tools["minus"].program.function == "minus"
    assert item.extra == {"source_url": "x"}


def test_hops_follow_the_functions_and_not_the_keys(tmp_path: Path) -> None:
    straight = row()
    turned = row(functions=straight["functions"][::-1])
    assert [hop.question for hop in only(tmp_path, straight).hops] == [YEAR, AGE]
    assert [hop.question for hop in only(tmp_path, turned).hops] == [AGE, YEAR]


@pytest.mark.parametrize(
    "source",
    [
        "def helper():\n    pass\n\ndef minus(a, b=0):\n    return a\n",
        "def born():\n    pass\n\ndef minus(a, b=0):\n    return a\n",
        'TEXT = """\ndef born():\n"""\ndef minus(a, b=0):\n    return a\n',
        "async def minus(a):\n    return a\n",
        "def minus(a:\n    return a\n",
        "def other(a):\n    return a\n",
        "nothing at all",
    ],
    ids=["helper", "other-tool-first", "in-a-string", "async", "broken", "nameless", "no-code"],
)
def test_the_entry_is_the_function_with_the_tools_name(tmp_path: Path, source: str) -> None:
    one = row(functions=[row()["functions"][0], source])
    assert programs(only(tmp_path, one))[1] == (AGE, "minus", Program(source, "minus"))


def test_tools_of_one_name_stay_callable_side_by_side(tmp_path: Path) -> None:
    one = same_names()
    assert programs(only(tmp_path, one)) == [
        (YEAR, "ask", Program(one["functions"][0], "ask")),
        (COUNT, "ask_2", Program(one["functions"][1], "ask_2")),
        (AGE, "ask_3", Program(one["functions"][2], "ask")),
    ]


def test_last_wins_runs_the_last_code_for_a_shared_name(tmp_path: Path) -> None:
    gold: Row = {"arguments": {}, "source": "written"}
    one = same_names(gold_calls=[gold, gold, gold])
    item = only(tmp_path, one, last_wins=True)
    last = Program(one["functions"][2], "ask")
    assert programs(item)[0] == (YEAR, "ask", last)
    assert programs(item)[2] == (AGE, "ask", last)
    assert [hop.gold is None for hop in item.hops] == [True, False, False]
    assert list(item.tools) == ["ask", "ask_2"]
    assert item.tools["ask"] is item.hops[2].tool


def test_a_tool_that_two_hops_share_keeps_its_name(tmp_path: Path) -> None:
    one, source = schema("ask", "who"), "def ask(who): return who"
    item = only(tmp_path, row(tools={YEAR: one, AGE: one}, functions=[source, source]))
    assert [hop.tool.name for hop in item.hops] == ["ask", "ask"]


@pytest.mark.parametrize("keys", [[YEAR, AGE], [AGE, YEAR]])
def test_alike_tools_the_last_function_answers_the_item(tmp_path: Path, keys: list[str]) -> None:
    tools = {key: schema("ask", "who") for key in keys}
    sources = ["def ask(who): return 1", "def ask(who): return 2"]
    item = only(tmp_path, row(tools=tools, functions=sources))
    assert [hop.question for hop in item.hops] == [YEAR, AGE]


def test_many_tools_of_one_name_take_the_order_of_the_keys(tmp_path: Path) -> None:
    questions = [f"Question {number}?" for number in range(40)]
    one = row(
        sub_task=dict.fromkeys(questions, "1"),
        tools={question: schema("ask", "who") for question in questions},
        functions=[f"def ask(who): return {number}" for number in range(40)],
    )
    assert [hop.question for hop in only(tmp_path, one).hops] == questions


def test_gold_calls_are_read(tmp_path: Path) -> None:
    calls = [None, {"arguments": {"a": 2}, "source": "example"}]
    hops = only(tmp_path, row(gold_calls=calls)).hops
    assert hops[0].gold is None
    assert hops[1].gold is not None
    assert (hops[1].gold.arguments, hops[1].gold.source) == ({"a": 2}, "example")


# --- export


def again(dataset: DataSet, folder: Path) -> DataSet:
    return official.read(write(folder, official.to_rows(dataset), "again.json"))


@pytest.mark.parametrize("identity", [7, "geography-1", "007", "-1", 10**20], ids=str)
def test_reading_what_was_exported_gives_equal_items(tmp_path: Path, identity: object) -> None:
    gold: Row = {"arguments": {"who": ["Ada", None]}, "source": "written"}
    one = same_names(id=identity, gold_calls=[gold, None, None], note={"a": [1]})
    dataset = official.read(write(tmp_path, [one]))
    assert again(dataset, tmp_path).items == dataset.items
    assert again(dataset, tmp_path).digest == dataset.digest


def test_an_official_row_is_exported_unchanged(tmp_path: Path) -> None:
    for one in (row(), same_names(), row(extra=1)):
        assert official.to_rows(official.read(write(tmp_path, [one]))) == [one]


def test_what_the_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    item = only(tmp_path, row())
    doubled = Item("x", "q", "a", (item.hops[0], item.hops[0]), "d", "")
    with pytest.raises(DataError, match="a sub-question of its own"):
        official.to_rows(DataSet("x", "x", (doubled,)))


# --- the real rows

Copy = Callable[[list[Row]], list[Row]]


def sorted_keys(rows: list[Row]) -> list[Row]:
    return [dict(json.loads(json.dumps(one, sort_keys=True))) for one in rows]


def shuffled_keys(rows: list[Row]) -> list[Row]:
    draw = random.Random(1)

    def shuffled(mapping: Row) -> Row:
        return dict(draw.sample(list(mapping.items()), len(mapping)))

    return [
        one | {"sub_task": shuffled(one["sub_task"]), "tools": shuffled(one["tools"])}
        for one in rows
    ]


@pytest.mark.data
@pytest.mark.parametrize("copy", [sorted_keys, shuffled_keys])
def test_real_rows_read_alike_whatever_the_order_of_keys(
    tmp_path: Path, toolhop_60: Path, copy: Copy
) -> None:
    rows = json.loads(toolhop_60.read_text(encoding="utf-8"))
    items = official.read(toolhop_60).items
    assert official.read(write(tmp_path, copy(rows))).items == items


@pytest.mark.data
def test_real_rows_hops_are_in_the_order_of_the_file(toolhop_60: Path) -> None:
    rows = json.loads(toolhop_60.read_text(encoding="utf-8"))
    dataset = official.read(toolhop_60)
    assert len(dataset.items) == 60
    for one, item in zip(rows, dataset.items, strict=True):
        assert [hop.question for hop in item.hops] == list(one["sub_task"])
        assert [hop.tool.program.source for hop in item.hops] == one["functions"]
        assert item.hops[-1].answer.lower() == item.answer.lower()
        assert len(item.tools) == len(item.hops)


@pytest.mark.data
def test_real_rows_are_exported_unchanged(tmp_path: Path, toolhop_60: Path) -> None:
    dataset = official.read(toolhop_60)
    assert official.to_rows(dataset) == json.loads(toolhop_60.read_text(encoding="utf-8"))
    assert again(dataset, tmp_path).items == dataset.items


@pytest.mark.data
def test_real_rows_with_the_official_behaviour(toolhop_60: Path) -> None:
    items = official.read(toolhop_60, last_wins=True).by_id
    for identity in ("127", "269", "436"):
        hops = items[identity].hops
        assert len(items[identity].tools) == len(hops) - 1
        same = [hop for hop in hops if sum(h.tool.name == hop.tool.name for h in hops) > 1]
        assert len({hop.tool.program for hop in same}) == 1
        assert same[0].tool.program == same[1].tool.program
