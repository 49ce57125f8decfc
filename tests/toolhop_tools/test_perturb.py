from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.items import small_item
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.toolhop.reader import read, survey_rows, to_rows
from toolhop_tools.errors import BadChoice, DataError
from toolhop_tools.load import load
from toolhop_tools.model import DataSet, Hop, Item, Tool, ToolSchema
from toolhop_tools.perturb.change import Words
from toolhop_tools.perturb.nearest import Nearest
from toolhop_tools.perturb.perturbation import Perturbation, perturbed

BUILTIN = load("builtin")
SOME = BUILTIN.items[:8]
COUNTS = st.integers(0, 6)
WORDS = st.sampled_from(Words)
HOWS = st.builds(Perturbation, WORDS, WORDS, WORDS, COUNTS, st.just("nearest"), st.booleans())


def shown(text: str, items: Sequence[Item] = SOME, seed: int = 0) -> tuple[Item, ...]:
    return tuple(perturbed(items, Perturbation.parse(text), pool=BUILTIN, seed=seed))


@given(HOWS)
def test_a_perturbation_is_read_as_it_is_written(how: Perturbation) -> None:
    assert Perturbation.parse(str(how)) == how


def test_distractors_leave_the_order_of_the_items_own_tools() -> None:
    alone, among = shown("order=shuffled"), shown("order=shuffled+distractors=4:random")
    for one, other in zip(alone, among, strict=True):
        assert [name for name in other.tools if name in one.tools] == list(one.tools)


@pytest.mark.parametrize(
    "text",
    [
        *("names=loud", "colour=red", "distractors=", "distractors=-1", "distractors=3:far"),
        *("order=up", "names", "names=scrambled,order=shuffled", "+", "as-is+names=removed"),
    ],
)
def test_what_is_no_perturbation_is_told(text: str) -> None:
    with pytest.raises(BadChoice, match="distractors=N"):
        Perturbation.parse(text)


def test_nothing_changed_gives_the_items_themselves() -> None:
    assert shown("as-is") is SOME or shown("as-is") == SOME


@given(HOWS, st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_the_code_the_chain_and_the_schemas_stay(how: Perturbation, seed: int) -> None:
    items = perturbed(SOME, how, pool=BUILTIN, seed=seed)
    assert items == perturbed(SOME, how, pool=BUILTIN, seed=seed)
    for item, plain in zip(items, SOME, strict=True):
        assert (item.id, item.question, item.answer) == (plain.id, plain.question, plain.answer)
        programs = [hop.tool.program for hop in item.hops]
        assert programs == [hop.tool.program for hop in plain.hops]
        assert len(item.tools) == len(plain.tools) + how.distractors
        for hop, before in zip(item.hops, plain.hops, strict=True):
            assert item.tools[hop.tool.name] == hop.tool
            assert _bare(hop.tool) == _bare(before.tool)


def _bare(tool: Tool) -> JSON:
    """A schema without its descriptions; names of parameters and all rules remain."""
    text = json.dumps(dict(tool.schema.parameters))
    return re.sub(r'"description": "(?:[^"\\]|\\.)*"', "", text)


@given(HOWS)
@settings(max_examples=20, deadline=None)
def test_rows_hold_what_is_shown(how: Perturbation) -> None:
    items = perturbed(SOME, how, pool=BUILTIN, seed=1)
    rows = json.loads(json.dumps(to_rows(DataSet("shown", "", items))))
    found = survey_rows([(f"row {n}", row) for n, row in enumerate(rows)], name="shown", origin="")
    assert not found.errors
    assert found.dataset.items == items
    assert [item.digest for item in found.dataset.items] == [item.digest for item in items]


def test_an_item_is_shown_alike_in_any_company() -> None:
    text = "names=scrambled+descriptions=scrambled+distractors=3+order=shuffled"
    assert shown(text)[3] == shown(text, SOME[3:4])[0]
    assert shown(text, seed=1) != shown(text, seed=2)


@pytest.mark.parametrize("words", ["scrambled", "removed"])
def test_no_old_name_is_left_in_a_schema(words: str) -> None:
    for item, plain in zip(shown(f"names={words}"), SOME, strict=True):
        text = json.dumps([tool.schema.to_openai() for tool in item.tools.values()])
        assert not [name for name in plain.tools if re.search(rf"\b{name}\b", text)]


def test_removed_names_are_numbered_by_the_order_shown() -> None:
    for item in shown("names=removed+order=shuffled+distractors=2"):
        assert list(item.tools) == [f"tool_{n}" for n in range(1, len(item.tools) + 1)]


def test_descriptions_are_scrambled_or_removed_where_asked() -> None:
    def texts(items: Sequence[Item]) -> list[str]:
        return [tool.schema.description for item in items for tool in item.tools.values()]

    assert set(texts(shown("descriptions=removed"))) == {""}
    scrambled, plain = texts(shown("descriptions=scrambled")), texts(SOME)
    assert scrambled != plain
    assert [sorted(t.split()) for t in scrambled] == [sorted(t.split()) for t in plain]


def test_only_descriptions_of_parameters_are_touched() -> None:
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "description": {"type": "string", "description": "What it is."},
            "rows": {
                "type": "array",
                "items": {"properties": {"a": {"description": "Deep."}}},
                "default": [{"description": "kept"}],
                "enum": [{"description": "kept"}],
            },
        },
        "required": ["description"],
    }
    tool = Tool(ToolSchema("f", "Says.", schema), Program("def f(): pass", "f"))
    item = Item("x", "q?", "1", (Hop("h?", "1", tool),), "", "")
    found = shown("parameters=removed", (item,))[0].tools["f"].schema
    assert found.description == "Says."
    text = json.dumps(found.parameters)
    assert text.count('"description": ""') == 2
    assert text.count('"description": "kept"') == 2
    assert found.parameters["required"] == ["description"]


@cache
def edits(one: str, other: str) -> int:
    """Levenshtein's distance, by its definition."""
    if not one or not other:
        return len(one) + len(other)
    rest = edits(one[1:], other[1:]) + (one[0] != other[0])
    return min(rest, edits(one[1:], other) + 1, edits(one, other[1:]) + 1)


def test_distractors_for_each_tool_are_unlike_the_items_own_in_name() -> None:
    pool = Nearest(BUILTIN.items)
    for item, plain in zip(shown("distractors=2:each"), SOME, strict=True):
        assert len(item.others) == len({tool.name for tool in item.others}) == 2 * len(plain.tools)
        for own in plain.tools:
            assert all(edits(own, tool.name) >= len(own) / 5 for tool in item.others)
        first = next(iter(plain.tools.values()))
        ranked = pool.others(plain, [first])
        assert item.others[0] == next(
            tool
            for tool in ranked
            if all(edits(own, tool.name) >= len(own) / 5 for own in plain.tools)
        )


def test_distractors_are_other_items_tools_at_any_place() -> None:
    items = shown("distractors=4", BUILTIN.items)
    places = set()
    for item, plain in zip(items, BUILTIN.items, strict=True):
        assert len(item.others) == 4
        own = {tool.program.source for tool in plain.tools.values()}
        assert not own & {tool.program.source for tool in item.others}
        places |= {list(item.tools).index(tool.name) for tool in item.others}
        order = [name for name in item.tools if name in plain.tools]
        assert order == list(plain.tools)
    assert {0, 1, 2, 3, 4, 5} <= places


def test_the_nearest_read_alike() -> None:
    item = BUILTIN.by_id["geography-1"]
    ranked = [tool.name for tool in Nearest(BUILTIN.items).others(item)]
    assert set(ranked[:6]) & {"river_mouth", "border_country", "locate_landmark"}
    assert {"dart_score", "midi_frequency"} & set(ranked[len(ranked) // 2 :])
    nearest = [tool.name for tool in shown("distractors=3", (item,))[0].others]
    assert nearest == ranked[:3]
    anywhere = {
        t.name for s in range(6) for t in shown("distractors=3:random", (item,), s)[0].others
    }
    assert len(anywhere) > 8


def test_too_few_tools_for_distractors_is_told() -> None:
    pool = DataSet("two", "", (small_item("a"), small_item("b")))
    with pytest.raises(BadChoice, match="0 tools of other items"):
        perturbed(pool.items, Perturbation(distractors=1), pool=pool, seed=0)


FAULTS: dict[str, JSON] = {
    "no object": [],
    "too few names": {"names": ["a"], "others": [], "order": ["a"]},
    "order without a name": {"names": ["a", "b", "c"], "others": [], "order": ["a", "b"]},
    "a name twice": {"names": ["a", "b", "c"], "others": [], "order": ["a", "b", "c", "c"]},
    "names that are none": {"names": [1, "", None], "others": [], "order": ["1"]},
    "others that are none": {"names": ["a", "b", "c"], "others": [7], "order": ["a", "b", "c"]},
    "another without code": {
        "names": ["a", "b", "c"],
        "others": [{"name": "d", "description": "", "parameters": {"type": "object"}}],
        "order": ["a", "b", "c", "d"],
    },
}


@pytest.mark.parametrize("name", FAULTS)
def test_rows_that_show_nonsense_are_refused(name: str, tmp_path: Path) -> None:
    (row,) = to_rows(DataSet("one", "", (small_item(),)))
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{**row, "shown": FAULTS[name]}]), encoding="utf-8")
    with pytest.raises(DataError, match="shown"):
        read(path)
