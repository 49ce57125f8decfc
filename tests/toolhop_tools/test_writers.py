"""Scenario items as ToolBeHonest's and RelyToolBench's files: form, labels, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.conftest import SHARED
from tests.inline import inline_sandbox
from tests.toolhop_tools.test_scenarios import (
    FACTS,
    MORE,
    OTHER,
    PEAK,
    RIVER,
    families,
    program,
)
from tests.toolhop_tools.test_scenarios import WHOLE as OF_RIVERS
from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.relytoolbench import writer as relytoolbench
from toolhop_tools.benchmarks.relytoolbench.official_api import Names, api, arguments, as_function
from toolhop_tools.benchmarks.toolbehonest import writer as toolbehonest
from toolhop_tools.benchmarks.toolbehonest.reader import (
    PLANS,
    SCENARIOS,
    TEXTS,
    UNSOLVABLE,
    tool_table,
)
from toolhop_tools.errors import DataError, DataProblem
from toolhop_tools.load import survey
from toolhop_tools.model import GoldCall, Item, Tool
from toolhop_tools.scenarios.families import Family, Files, Labelled, Reason
from toolhop_tools.scenarios.families import families as by_family
from toolhop_tools.scenarios.hidden import FORMS
from toolhop_tools.scenarios.label import TOOLBEHONEST, Checks, Scenario
from toolhop_tools.scenarios.labels import Results, broken
from toolhop_tools.scenarios.make import Recipe
from toolhop_tools.varied import most_varied

FACT = program(
    "how_much",
    f"def how_much(stream, want):\n    table = {FACTS}\n    if stream not in table:\n"
    "        raise ValueError('no such stream')\n"
    "    return {'stream': stream, want: table[stream][want]}\n",
    "Measures of running water: its length, or how many bridges cross it.",
    {"stream": {"type": "string"}, "want": {"type": "string", "enum": ["length", "bridges"]}},
)
FIRST, SECOND, THIRD = OF_RIVERS.hops
WHOLE = replace(OF_RIVERS, hops=(FIRST, replace(SECOND, tool=FACT), THIRD), extra={FORMS: [MORE]})
"""Three hops whose tools read otherwise than each other."""
DATA = [WHOLE, OTHER, PEAK]
GOLDEN = Path(__file__).parents[1] / "golden"
INTO = (*(kind for kind in TOOLBEHONEST if kind is not Scenario.MISSING_REPEATED),
        Scenario.MISSING_PARAMETER, Scenario.UNMATCHED, Scenario.RESERVE)  # fmt: skip
"""Of those that are used, those that the item allows."""


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    """Scenarios of an item of three hops; one tool has a choice."""
    made = families(DATA, Recipe(INTO), chosen=[WHOLE])["whole"]
    assert made is not None
    return made.items


@pytest.fixture(scope="module")
def family(items: tuple[Item, ...]) -> Family:
    (only,) = by_family(items, origin="made")
    return only


def rely(*found: Family) -> Files:
    async def made() -> Files:
        async with inline_sandbox() as sandbox, sandbox.session() as session:
            return await relytoolbench.write(found, Results(session))

    return anyio.run(made)


def problems(one: Labelled) -> list[DataProblem]:
    async def found() -> list[DataProblem]:
        async with inline_sandbox() as sandbox, sandbox.session() as session:
            return await broken(one, Results(session))

    return anyio.run(found)


def rows(files: Files, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(files.texts[name])
    return found


def read(files: Files, form: str, folder: Path, more: str = "") -> list[DataProblem]:
    """What the benchmark's own reader finds in the files."""
    for name, text in files.texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [one for name in files.data for one in survey(f"{form}:{folder / name}{more}").problems]


# -- the form ----------------------------------------------------------------------------------


def skeleton(value: object, path: str = "") -> dict[str, set[str]]:
    """By path the kinds of values that stand there; elements of a list share one."""
    if isinstance(value, dict):
        found: dict[str, set[str]] = {path: {"object"}}
        inner = [(f"{path}.{key}", part) for key, part in value.items()]
    elif isinstance(value, list):
        found, inner = {path: {"list"}}, [(f"{path}[]", part) for part in value]
    else:
        return {path: {type(value).__name__}}
    for below, part in inner:
        for where, kinds in skeleton(part, below).items():
            found.setdefault(where, set()).update(kinds)
    return found


def form_of(found: object) -> dict[str, set[str]]:
    """The skeleton of RelyToolBench's rows; both lists of parameters have one form, and the forms
    of replies are left out, as the replies themselves are known."""
    made: dict[str, set[str]] = {}
    for path, kinds in skeleton(found).items():
        if "template_response" not in path:
            made.setdefault(path.replace("optional_", "required_"), set()).update(kinds)
    return made


def test_toolbehonests_rows_have_the_keys_that_its_reader_asks_for(family: Family) -> None:
    made = rows(toolbehonest.write([family]), toolbehonest.FILE)
    assert all([*row] == ["subtask", *_official_order()] for row in made)
    golden = [
        {key: value for key, value in row.items() if key != "id"}
        for row in json.loads((GOLDEN / "toolbehonest_own.json").read_text())["rows"]
    ]
    assert skeleton(made) == skeleton(golden)
    assert {*_official_order()} == {*TEXTS, *PLANS}


def _official_order() -> list[str]:
    return ["task", "tools", "unsolvable_task", "unsolvable_tools", *PLANS]


@pytest.mark.data
def test_relytoolbenchs_rows_have_the_keys_of_the_official_files(family: Family) -> None:
    files = rely(family)
    for name in files.data:
        official = json.loads((SHARED / "relytoolbench" / Path(name).name).read_text())
        ours, theirs = form_of(rows(files, name)), form_of(official)
        assert ours.keys() == theirs.keys(), name
        assert all(kinds <= theirs[path] for path, kinds in ours.items()), name
        for row in rows(files, name):
            assert [*row] == [*official[0]]
            known = [key for key in official[0]["api_list"][0] if key != "template_response"]
            assert all([*one] == known for one in row["api_list"])


def test_relytoolbenchs_rows_have_the_keys_that_its_reader_is_tested_on(family: Family) -> None:
    files, golden = rely(family), json.loads((GOLDEN / "relytoolbench_own.json").read_text())
    for name in files.data:
        known = form_of(golden["sets"]["G1_instruction"])
        assert form_of(rows(files, name)).keys() - {"[].orig_query"} == known.keys()


def test_the_official_readers_find_nothing(family: Family, tmp_path: Path) -> None:
    assert read(toolbehonest.write([family]), "toolbehonest", tmp_path / "t") == []
    more = f"?replies={tmp_path}/r/tool_response_cache&gold={tmp_path}/r/gold.jsonl"
    assert read(files := rely(family), "relytoolbench", tmp_path / "r") == []
    assert read(files, "relytoolbench", tmp_path / "r", more) == []


def standardized(text: str) -> str:
    """A name of letters, digits and ``_`` as the official code writes it; others are not here."""
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*[A-Za-z0-9]", text)
    assert "__" not in text
    return text.lower()


def test_the_official_code_finds_every_document_and_reply(family: Family) -> None:
    """Paths and keys as its wrapper and its server put them together."""
    files = rely(family)
    sets = ("", "_missing_all_arguments", "_with_unmatched_tools")
    names = [f"G1_instruction{part}" for part in sets]
    queries = "solvable_queries/test_instruction/{}.json"
    assert files.data == tuple(map(queries.format, names))
    listed: set[str] = set()
    for name in names:
        ids = json.loads(files.texts[f"solvable_queries/test_query_ids/{name}.json"])
        assert ids == {str(row["query_id"]): 0 for row in rows(files, queries.format(name))}
        for row in rows(files, queries.format(name)):
            for one in row["api_list"]:
                tool = standardized(one["tool_name"])
                document = json.loads(files.texts[f"tools/{one['category_name']}/{tool}.json"])
                assert standardized(document["tool_name"]) == tool
                assert document["tool_description"]
                (api_,) = (each for each in document["api_list"] if each["name"] == one["api_name"])
                assert api_["description"] == one["api_description"]
                for kind in ("required_parameters", "optional_parameters"):
                    assert api_[kind] == one[kind]
                listed.add(one["api_name"])
    assert listed == {one["name"] for one in document["api_list"]}
    for line in files.texts["gold.jsonl"].splitlines():
        for call in json.loads(line)["calls"]:
            name = call["name"].removesuffix("_for_toolhop")
            cache = json.loads(
                files.texts[f"tool_response_cache/Data/toolhop_for_Data/{name}.json"]
            )
            turned = dict(reversed(call["arguments"].items()))
            for given in (call["arguments"], turned):
                assert cache[str(given)]["error"] == ""


def test_a_tool_that_fails_at_first_is_on_offer_and_no_twin() -> None:
    into = (Scenario.MISSING_TOOL, Scenario.FLAKY_TOOL)
    made = families(DATA, Recipe(into), chosen=[WHOLE])["whole"]
    assert made is not None
    shared = [one for one in made.items if not one.id.endswith("~plain")]
    (only,) = by_family(shared, origin="made")
    flaky, missing = only.own(Scenario.FLAKY_TOOL), only.own(Scenario.MISSING_TOOL)
    assert flaky is not None
    assert problems(flaky) == []
    assert missing is not None
    assert only.twin(missing) is None


def test_the_same_items_give_the_same_bytes(family: Family) -> None:
    assert toolbehonest.write([family]).texts == toolbehonest.write([family]).texts
    assert rely(family).texts == rely(family).texts


# -- what the rows say -------------------------------------------------------------------------


def test_every_subtask_is_made_in_pairs(family: Family) -> None:
    files = toolbehonest.write([family])
    one = "web" if files.rows["web"] else "os"
    wanted = dict.fromkeys(SCENARIOS, 0) | dict.fromkeys(
        ("single_step", "multi_step_wo_rep", one, "iter", "best"), 1
    )
    assert files.rows == wanted
    assert not files.left
    for row in rows(files, toolbehonest.FILE):
        solvable, unsolvable = row["planning_tools"], row["planning_tools_unsolvable"]
        assert solvable[-1] == unsolvable[-1] == "Finish"
        assert UNSOLVABLE in unsolvable
        assert UNSOLVABLE not in solvable
        kept = [(a, b) for a, b in zip(solvable, unsolvable, strict=True) if b != UNSOLVABLE]
        assert all(a == b for a, b in kept)


def test_the_choice_that_is_gone_is_named(family: Family) -> None:
    (row,) = (r for r in rows(toolbehonest.write([family]), toolbehonest.FILE)
              if r["subtask"] == "iter")  # fmt: skip
    assert "want: one of length, bridges." in tool_table(row["tools"])["how_much"]
    assert "want: one of bridges; not length." in tool_table(row["unsolvable_tools"])["how_much"]


def test_a_limit_that_the_task_does_not_show_gives_no_row(family: Family) -> None:
    def blind(one: Labelled) -> Labelled:
        hops = tuple(replace(hop, question="And then?") for hop in one.item.hops)
        return replace(one, item=replace(one.item, question="How long is it?", hops=hops))

    files = toolbehonest.write([replace(family, members=tuple(map(blind, family.members)))])
    assert files.left == {Scenario.LIMITED_CLONES: {Reason.UNSEEN_LIMIT: 1}}


def _reads_like(tool: Tool, name: str) -> Tool:
    return replace(tool, schema=replace(tool.schema, name=name))


def test_tools_that_read_alike_are_no_plan(family: Family) -> None:
    def alike(one: Labelled) -> Labelled:
        first, second, last = one.item.hops
        last = replace(last, tool=_reads_like(first.tool, last.tool.name))
        return replace(one, item=replace(one.item, hops=(first, second, last)))

    several = [one for one in family.members if len(one.item.hops) == 3]
    files = toolbehonest.write([replace(family, members=tuple(map(alike, several)))])
    assert files.rows.total() == 0
    assert all(reasons == {Reason.ALIKE: 1} for reasons in files.left.values())


def test_no_list_has_a_tool_of_another_item_that_reads_like_an_own_one(family: Family) -> None:
    def alike(one: Labelled) -> Labelled:
        tools = [_reads_like(RIVER, tool.name) for tool in one.item.others]
        return replace(one, item=replace(one.item, others=tuple(tools)))

    kinds = (Scenario.PLAIN, Scenario.MISSING_TOOL, Scenario.MISSING_PARAMETER)
    members = [one for one in family.members if one.label.scenario in kinds]
    changed = replace(family, members=tuple(map(alike, members)))
    (row,) = rows(toolbehonest.write([changed]), toolbehonest.FILE)
    own = {hop.tool.name for hop in WHOLE.hops}
    assert tool_table(row["tools"]).keys() == own | toolbehonest.OWN.keys()
    files = rely(changed)
    for name in files.data:
        assert {api["api_name"] for api in rows(files, name)[0]["api_list"]} == own


def test_a_plan_with_a_tool_twice_is_one_with_repetition(family: Family) -> None:
    def twice(one: Labelled) -> Labelled:
        hops = (*one.item.hops, one.item.hops[-1])
        return replace(one, item=replace(one.item, hops=hops))

    files = toolbehonest.write([replace(family, members=tuple(map(twice, family.members)))])
    assert (files.rows["multi_step_wo_rep"], files.rows["multi_step_w_rep"]) == (0, 1)


def test_without_its_solvable_sibling_an_item_gives_no_row(family: Family) -> None:
    left = tuple(one for one in family.members if not one.label.solvable)
    files = toolbehonest.write([replace(family, members=left)])
    assert files.rows.total() == 0
    assert all(reasons == {Reason.NO_TWIN: 1} for reasons in files.left.values())


def test_a_sibling_shows_all_that_the_item_shows(family: Family) -> None:
    one = family.own(Scenario.MISSING_TOOL)
    assert one is not None
    plain = family.own(Scenario.PLAIN)
    assert plain is not None
    assert family.twin(one) == plain
    own = replace(plain, item=replace(plain.item, id="whole~missing-tool~solvable"))
    assert replace(family, members=(plain, own, one)).twin(one) == own
    of_others = [name for name in one.item.order if name in plain.item.order]
    of_others = [name for name in of_others if name not in plain.hop_tools]
    less = [name for name in plain.item.order if name != of_others[0]]
    lacking = replace(plain, item=replace(plain.item, order=tuple(less)))
    assert replace(family, members=(lacking, one)).twin(one) is None
    steps = family.own(Scenario.LIMITED_STEPS)
    assert steps is not None
    assert family.twin(steps) == plain


def test_a_family_is_one_query_in_each_set(family: Family) -> None:
    files = rely(family)
    found = {name: rows(files, name) for name in files.data}
    assert {name: [row["query_id"] for row in made] for name, made in found.items()} == {
        name: [1] for name in files.data
    }
    solvable, missing, unmatched = (found[name][0] for name in files.data)
    assert missing["orig_query"] == solvable["query"] == unmatched["query"] != missing["query"]
    shown = {api["api_name"] for api in unmatched["api_list"]}
    assert not shown & {name for _, name in solvable["relevant APIs"]}
    assert len(solvable["api_list"]) > len(solvable["relevant APIs"])


def test_where_rows_are_from_is_written_beside_them(family: Family) -> None:
    files = rely(family)
    lines = [json.loads(line) for line in files.texts["origins.jsonl"].splitlines()]
    assert {one["family"] for one in lines} == {"whole"}
    assert [hidden["value"] for hidden in lines[1]["hidden"]] == [58]
    assert lines[2]["reserve"] == [
        "river_of_for_toolhop", "how_much_for_toolhop", "sum_of_for_toolhop",
    ]  # fmt: skip
    gold = json.loads(files.texts["gold.jsonl"])
    assert gold["answer"] == "985"
    assert [one["from_results"] for one in gold["calls"]] == [[], ["stream"], ["first"]]


# -- labels ------------------------------------------------------------------------------------


def test_labels_hold_as_they_were_made(family: Family) -> None:
    assert [problem for one in family.members for problem in problems(one)] == []


def _label(**changes: Any) -> Callable[[Labelled], Labelled]:
    return lambda one: replace(one, label=replace(one.label, **changes))


def _with_its_tool(one: Labelled) -> Labelled:
    name = one.hop_tools[one.label.lost[0] - 1]
    return replace(one, item=replace(one.item, order=(*one.item.order, name)))


def _one_more_lost(one: Labelled) -> Labelled:
    return replace(one, label=replace(one.label, lost=(*one.label.lost, 9)))


def _offers_a_decoy(one: Labelled) -> Labelled:
    decoy = replace(MIXED, schema=replace(MIXED.schema, name=one.label.decoys[0]))
    item = replace(one.item, others=(*one.item.others, decoy))
    return replace(one, item=replace(item, order=(*item.order, decoy.name)))


def _other_gold(one: Labelled) -> Labelled:
    first, *rest = one.item.hops
    wrong = replace(first, gold=GoldCall({"town": "Carrow"}, "written"))
    return replace(one, item=replace(one.item, hops=(wrong, *rest)))


def _told(one: Labelled) -> Labelled:
    return replace(one, item=replace(one.item, question=f"{one.item.question} (Borough, 58)"))


BROKEN: dict[str, tuple[Scenario, Callable[[Labelled], Labelled]]] = {
    "called solvable": (Scenario.MISSING_TOOL, _label(solvable=True)),
    "called solvable, with no hop lost": (Scenario.MISSING_TOOL, _label(solvable=True, lost=())),
    "nothing lost": (Scenario.UNMATCHED, _label(lost=())),
    "a hop that is no hop": (Scenario.MISSING_TOOL, _one_more_lost),
    "another hop lost": (Scenario.LIMITED_STEPS, _label(lost=(1,))),
    "a plain item called lost": (Scenario.PLAIN, _label(solvable=False, lost=(2,))),
    "no search": (Scenario.UNMATCHED, _label(checks=Checks())),
    "the tool is back": (Scenario.MISSING_TOOL, _with_its_tool),
    "another gold call": (Scenario.PLAIN, _other_gold),
    "the hidden value is told": (Scenario.MISSING_PARAMETER, _told),
    "decoys of no text": (Scenario.POTENTIAL_TOOL, _label(decoys=("gawk", "curl"))),
    "a decoy on offer": (Scenario.POTENTIAL_TOOL, _offers_a_decoy),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_label_that_does_not_hold_is_found(name: str, family: Family) -> None:
    scenario, change = BROKEN[name]
    one = family.own(scenario)
    assert one is not None
    found = problems(change(one))
    assert found
    assert {problem.rule for problem in found} == {"false-label"}


def test_an_item_that_is_no_scenario_is_refused(items: tuple[Item, ...]) -> None:
    with pytest.raises(DataError, match=r"whole is no scenario\n.*toolhop perturb"):
        by_family([*items, WHOLE], origin="x")
    odd = replace(items[0], gold={"scenario": {"scenario": "odd"}})
    with pytest.raises(DataError, match="label of another form"):
        by_family([odd], origin="x")


def test_gold_that_is_shuffled_is_found(family: Family, tmp_path: Path) -> None:
    files = toolbehonest.write([family])
    made = rows(files, toolbehonest.FILE)
    for name in PLANS:
        plans = [row[name] for row in made]
        for row, plan in zip(made, [*plans[1:], plans[0]], strict=True):
            row[name] = plan
    files.texts[toolbehonest.FILE] = json.dumps(made)
    assert {one.rule for one in read(files, "toolbehonest", tmp_path)} >= {"unknown-tool"}

    files = rely(family)
    gold = json.loads(files.texts["gold.jsonl"])
    gold["calls"][0]["name"] = "another_for_toolhop"
    files.texts["gold.jsonl"] = json.dumps(gold)
    more = f"?gold={tmp_path}/r/gold.jsonl"
    found = read(files, "relytoolbench", tmp_path / "r", more)
    assert [one.rule for one in found] == ["other-gold"]


@pytest.mark.parametrize("line", ['{"row": "G1_instruction-1"}', "no", '{"row": 1, "more": 2}'])
def test_a_line_that_is_no_known_answer_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(line)
    with pytest.raises(DataError, match=r"line 1 is no known answer"):
        survey(f"relytoolbench:{tmp_path}?gold={path}")
    with pytest.raises(DataError, match="no such file of known answers"):
        survey(f"relytoolbench:{tmp_path}?gold={path}l")


# -- APIs --------------------------------------------------------------------------------------

MIXED = program(
    "mixed",
    "def mixed(**given):\n    return given\n",
    "Takes  all\nkinds.",
    {
        "From": {"type": "string", "enum": ["a", "b"], "description": "Where."},
        "share": {"type": "number"},
        "count": {"type": "integer", "default": 3},
        "names": {"type": "array", "items": {"type": "string"}},
        "flag": {"type": "boolean"},
    },
)


def test_a_tool_is_an_api_of_the_official_types() -> None:
    made = api(MIXED, "mixed")
    assert isinstance(made, dict)
    assert made["api_description"] == "Takes all kinds."
    assert made["required_parameters"] == [
        {"name": "From", "type": "ENUM", "description": "One of a, b. Where.", "default": ""},
        {"name": "share", "type": "FLOAT", "description": "A number, as text.", "default": ""},
        {"name": "count", "type": "NUMBER", "description": "", "default": 3},
        {"name": "names", "type": "ARRAY", "description": "A list, as JSON.", "default": ""},
        {"name": "flag", "type": "BOOLEAN", "description": "", "default": ""},
    ]


def test_arguments_are_as_the_api_takes_them() -> None:
    given: dict[str, JSON] = {
        "From": "a",
        "share": 0.5,
        "count": 3.0,
        "names": ["ä", 1],
        "flag": True,
    }
    assert arguments(MIXED, given) == {
        "is_from": "a", "share": "0.5", "count": 3, "names": '["ä", 1]', "flag": True,
    }  # fmt: skip


def test_what_the_form_cannot_say_is_refused() -> None:
    optional = replace(MIXED.schema, parameters={**MIXED.schema.parameters, "required": []})
    assert arguments(replace(MIXED, schema=optional), {"count": 4}) is Reason.NOT_SHOWN
    assert arguments(replace(MIXED, schema=optional), {}) == {}
    alike: dict[str, JSON] = {
        "type": "object",
        "properties": {"a b": {}, "a_b": {}},
        "required": [],
    }
    same = replace(MIXED, schema=replace(MIXED.schema, parameters=alike))
    assert api(same, "mixed") is Reason.SAME_NAMES


def test_tools_that_differ_have_names_that_do() -> None:
    names = Names()
    other = replace(MIXED, schema=replace(MIXED.schema, description="Another."))
    capital = replace(MIXED, schema=replace(MIXED.schema, name="MIXED"))
    assert [names.of(one) for one in (MIXED, other, MIXED, capital)] == [
        "mixed", "mixed_2", "mixed", "MIXED_3",
    ]  # fmt: skip
    assert as_function("x" * 80).endswith("_for_toolhop")
    assert len(as_function("x" * 80)) == 64


def test_the_most_varied_rows_are_one_of_each_kind() -> None:
    kinds = ["rivers of Europe by length", "moons of planets by radius", "tariffs of a tram"]
    rows = [[f"{kind} number {n}", f"tool for {kind}"] for n in range(4) for kind in kinds]
    kept = most_varied(rows, 3)
    assert sorted(n % 3 for n in kept) == [0, 1, 2]
    assert kept == sorted(kept)
    assert most_varied(rows, 12) == [*range(12)]
    assert most_varied([], 3) == []
    # What differs in its tools alone is told apart too.
    tools = [["the same task", text] for text in ("saw wood", "saw wood", "bake bread")]
    assert 2 in most_varied(tools, 2)
