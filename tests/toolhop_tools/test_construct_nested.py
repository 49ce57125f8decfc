"""Nested tasks: the checker of code, texts, executed calls, the search in a pool. All pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from tests.conftest import SHARED
from toolhop_agents.scripted.constructor.nest import invented
from toolhop_env.scorers.nestools import gold_calls, gold_of
from toolhop_env.scorers.nestools_shape import depth
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.certify.model import Basis, Certificate, Edge, HopProof, HopVerdict
from toolhop_tools.construct.duplicates import Against
from toolhop_tools.construct.nested.accept import duplicates
from toolhop_tools.construct.nested.assemble import Executed, Link, Unfit, assembled, leaves_of
from toolhop_tools.construct.nested.code import Wanted, chain_findings
from toolhop_tools.construct.nested.distract import DistractorPool
from toolhop_tools.construct.nested.items import executed_item
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.construct.nested.naming import result_name
from toolhop_tools.construct.nested.pool import Meaning, Search, pool_of
from toolhop_tools.construct.nested.replies import ChainCode
from toolhop_tools.construct.nested.shapes import Structure, possible
from toolhop_tools.construct.nested.task import plain_task, task_findings
from toolhop_tools.construct.nested.writing import as_code
from toolhop_tools.construct.stages import Problem
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema
from toolhop_tools.perturb.distractors import unlike
from toolhop_tools.readers.nestools import item_of

ANY = Wanted()
CODE = '''def find_ferry(port: str, seats: int = 1):
    """Find the next ferry
    from a port.

    Required parameters:
    port (str): the port,
        by its name

    optional parameters:
    seats (int): how many seats are wanted

    Returns:
    ferry (str): the ferry's name
    price (float): what a seat costs
    """
    ...

def book(ferry: str, names: list, limit: float):
    """Book seats.

    required parameters:
    ferry (str): the ferry
    names (list): who travels
    limit (float): the most that it may cost

    Returns:
    done (bool): whether it worked
    """
    ...

def main():
    data0, data1 = find_ferry("Skarvik")
    data2 = book(data0, ["Ada", "Bo"], limit=data1)
    # Book the next ferry from Skarvik for Ada and Bo,
    # whatever a seat on it costs.

if __name__ == "__main__":
    main()
'''


def test_code_becomes_the_official_row() -> None:
    found, nest = chain_findings(CODE, Wanted(2, 1))
    assert found.problems == ()
    assert nest is not None
    row: Any = nest.to_row(7, "Travel/Ferries")
    assert [*row] == ["test_id", "api", "task", "call", "field"]
    assert row["task"].endswith("Ada and Bo, whatever a seat on it costs.")
    assert row["api"][0]["required"] == ["port"]
    assert row["api"][0]["api_description"] == "Find the next ferry from a port."
    assert row["api"][0]["parameters"]["port"]["description"] == "the port, by its name"
    assert row["call"][1] == {
        "api_name": "book",
        "parameters": {"ferry": "API_call_0", "names": ["Ada", "Bo"], "limit": "API_call_1"},
        "responses": ["API_call_2"],
    }
    assert Nest.from_row(row) == nest
    assert item_of(row).gold["calls"]


GULLS = '''def gulls(pier: str):
    """Count gulls.

    required parameters:
    pier (str): a pier

    Returns:
    number (int): how many there are
    """
    ...

'''
FAULTS = {
    "compiles": ("book(data0", "book((data0"),
    "stubs": ("    ...\n", "    return 1\n"),
    "names": ("book", "list"),
    "docstring": ("done (bool)", "done (yes or no)"),
    "signature": ("limit: float", "limit: int"),
    "duplicate-tool": ("def book", CODE.split("\n\ndef book")[0] + "\n\ndef book"),
    "main": ("    data2 =", "    total = 1\n    data2 ="),
    "known-function": ("= book(", "= reserve("),
    "arguments": ("limit=data1", "limit=data1, class_=2"),
    "variables": ("book(data0", "book(data9"),
    "no-computing": ("limit=data1", "limit=data1[0]"),
    "values": ('"Skarvik"', "None"),
    "value-types": ('["Ada", "Bo"]', '"Ada"'),
    "edge-types": ("book(data0", "book(data1"),
    "all-tools-called": ("def main", f"{GULLS}def main"),
    "same-call": ("    # Book", '    a, b = find_ferry("Skarvik")\n    # Book'),
    "task-comment": ("    # Book the next ferry from Skarvik for Ada and Bo,\n", ""),
    "loose-call": ("    # Book", '    a, b = find_ferry("Ostermole")\n    # Book'),
}  # fmt: skip


@pytest.mark.parametrize("check", FAULTS)
def test_each_check_finds_its_fault_and_names_the_line(check: str) -> None:
    old, new = FAULTS[check]
    code = CODE.replace(old, new, 1)
    if check == "task-comment":
        code = code.replace("    # whatever a seat on it costs.\n", "")
    assert code != CODE
    found, nest = chain_findings(code, Wanted(2, 1) if check == "loose-call" else ANY)
    assert nest is None
    assert check in found.failed
    assert all("ine " in one.message for one in found.problems)


def test_a_form_that_is_asked_for_has_to_be_met() -> None:
    for wanted, check in ((Wanted(3, 1), "depth"), (Wanted(2, 2), "width")):
        assert chain_findings(CODE, wanted)[0].failed == {check}


def test_a_fence_is_let_pass_and_words_around_are_not() -> None:
    assert not isinstance(ChainCode.read(f"```python\n{CODE}```"), Problem)
    assert isinstance(ChainCode.read(f"Here it is:\n{CODE}"), Problem)


@pytest.mark.parametrize("wide", range(1, 5))
@pytest.mark.parametrize("deep", range(2, 7))
def test_what_is_written_as_code_is_read_back(deep: int, wide: int) -> None:
    nest = invented(f"test-{deep}-{wide}", deep, wide)
    found, again = chain_findings(as_code(nest), Wanted(deep, wide))
    assert (found.problems, again) == ((), nest)
    assert depth(gold_calls(gold_of(item_of(nest.to_row(1, "A/B"))))) == deep


@pytest.mark.data
def test_the_checker_takes_the_published_chains() -> None:
    path = SHARED / "nestools" / "test_data-500.jsonl"
    golden = json.loads((SHARED / "golden" / "nestools.json").read_text())
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row, (deep, _) in zip(rows, golden["depth_and_structure"]["values"], strict=True):
        nest = Nest.from_row(row)
        found, again = chain_findings(as_code(nest), ANY)
        assert found.problems == ()
        assert again is not None
        plain = {**row, "task": " ".join(row["task"].split())}
        assert again.to_row(row["test_id"], row["field"]) == plain
        assert nest.depth == deep


# -- texts ----------------------------------------------------------------------------------------

SAID = "Book the next ferry from Skarvik for Ada and Bo, whatever a seat on it costs."


@pytest.mark.parametrize(
    ("text", "check"),
    [
        (SAID, ""),
        (SAID.replace("Skarvik", "here"), "values-said"),
        (SAID.replace("Bo,", "Boris,"), "values-said"),
        (f"{SAID} Use find_ferry.", "no-tool-name"),
        (f"{SAID} Use findFerry.", "no-tool-name"),
        (f"{SAID} Give it API_call_0.", "no-placeholder"),
        (f"{SAID} Give it data1.", "no-placeholder"),
        (f"{SAID} It is the Vellin.", "no-result"),
        ("Book it.", "length"),
    ],
)
def test_a_text_says_all_values_and_gives_nothing_away(text: str, check: str) -> None:
    nest = chain_findings(CODE, ANY)[1]
    assert nest is not None
    assert check in (task_findings(text, nest, ["the Vellin", 12.5]).failed or {""})


def test_duplicates_are_those_of_text_or_calls() -> None:
    nest = invented("one", 3, 2)
    row = nest.to_row(1, "A/B")
    other = {**row, "task": "Something else altogether."}
    rows = [("a", row), ("b", other), ("c", invented("two", 3, 2).to_row(2, "A/B"))]
    assert duplicates(rows, Against([])) == {"b": "the calls of a"}
    test_set = [Item("t", nest.task, "", (), "", "")]
    assert "like a test set" in duplicates(rows, Against(test_set))["a"]


# -- executed calls -------------------------------------------------------------------------------


def tool(name: str, required: Mapping[str, str], **optional: str) -> Tool:
    properties: dict[str, JSON] = {
        key: {"type": kind, "description": f"The {key}."}
        for key, kind in {**required, **optional}.items()
    }
    schema: dict[str, JSON] = {
        "type": "object", "properties": properties, "required": [*required],
    }  # fmt: skip
    return Tool(ToolSchema(name, f"Does what {name[:3]} says.", schema), Program("", name))


CAPITALS = {"Norway": "Oslo", "Peru": "Lima"}
CODES: Mapping[str, dict[str, JSON]] = {"Norway": {"calling_code": 47, "name": "NO"}}
WORK: Mapping[str, Callable[..., JSON]] = {
    "mountain_country": lambda mountain: "Norway" if mountain == "Rauma" else None,
    "country_capital": lambda country: CAPITALS.get(country, {"error": "unknown country"}),
    "country_code": lambda country: CODES.get(country, {"error": "unknown country"}),
    "add_digits": lambda number: sum(map(int, str(number))),
    "square_root": lambda value: math.sqrt(value) + 0.0,
    "join_words": lambda text, with_text="-": f"{text}{with_text}{text}",
    "letters": lambda text: len(text) * 1,
}
TOOLS = {
    "mountain_country": tool("mountain_country", {"mountain": "string"}),
    "country_capital": tool("country_capital", {"country": "string"}),
    "country_code": tool("country_code", {"country": "string"}),
    "add_digits": tool("add_digits", {"number": "integer"}),
    "square_root": tool("square_root", {"value": "number"}),
    "join_words": tool("join_words", {"text": "string"}, with_text="string"),
    "letters": tool("letters", {"text": "string"}),
}


async def run(program: Program, sets: Sequence[Mapping[str, JSON]]) -> list[Outcome | None]:
    return [Returned(json.dumps(WORK[program.function](**one))) for one in sets]


def executed(name: str, arguments: dict[str, JSON], *links: Link) -> Executed:
    return Executed(TOOLS[name], arguments, WORK[name](**arguments), links)


def test_leaves_of_results_are_responses_with_types() -> None:
    calls = [
        executed("country_code", {"country": "Norway"}),
        executed("square_root", {"value": 47}, Link("value", None, 0, ("calling_code",))),
    ]
    nest = assembled(calls)
    assert isinstance(nest, Nest)
    first = nest.apis[0].responses
    assert {key: one.type for key, one in first.items()} == {"calling_code": "float", "name": "str"}
    assert nest.calls[1].parameters == {"value": "API_call_0"}
    both = [
        *calls,
        executed("add_digits", {"number": 47}, Link("number", None, 0, ("calling_code",))),
    ]
    assert assembled(both) == Unfit("a leaf and the parameter that takes it differ in type")
    wrong = [
        calls[0],
        executed("square_root", {"value": 48}, Link("value", None, 0, ("calling_code",))),
    ]
    assert assembled(wrong) == Unfit("a leaf is not the argument that takes it")


_Call: TypeAlias = tuple[str, dict[str, JSON], tuple[Edge, ...]]


def item_of_calls(
    *calls: _Call,
) -> tuple[Item, Certificate]:
    hops = tuple(
        Hop(f"Which {name}?", str(WORK[name](**arguments)), TOOLS[name],
            GoldCall(arguments, "written"))
        for name, arguments, _ in calls
    )  # fmt: skip
    item = Item("i", "Which?", hops[-1].answer, hops, "Geography", "text")
    proofs = tuple(
        HopProof(name, HopVerdict.PROVEN, "", 1, arguments, edges=edges)
        for name, arguments, edges in calls
    )
    basis = Basis(1, 0, 1, 1, 1.0, 1, "none")
    return item, Certificate("i", item.digest, basis, HopVerdict.PROVEN, "", "", proofs)


MOUNTAIN: _Call = ("mountain_country", {"mountain": "Rauma"}, ())


@pytest.mark.parametrize(
    ("argument", "edge", "why"),
    [
        ("Norway", Edge(1, "country", equal=True), ""),
        ("Norw", Edge(1, "country", equal=False), "made of an answer"),
        ("Peru", Edge(1, "country", equal=True), "no leaf of a result is the argument"),
        ("Norway", Edge(1, "land.name", equal=True), "inside an object"),
    ],
)
def test_a_certified_item_is_a_nested_task_where_answers_are_arguments(
    argument: str, edge: Edge, why: str
) -> None:
    second: _Call = ("country_capital", {"country": argument}, (edge,))
    item, certificate = item_of_calls(MOUNTAIN, second)
    if edge.argument == "land.name":
        proof = certificate.hops[1]
        assert proof.arguments is not None
        proof.arguments["land"] = {"name": "Norway"}
    found = anyio.run(executed_item, item, certificate, run)
    assert (why in found.why) if isinstance(found, Unfit) else not why
    if not isinstance(found, Unfit):
        nest = assembled(found)
        assert isinstance(nest, Nest)
        assert nest.calls[1].parameters == {"country": "API_call_0"}
        assert task_findings(plain_task(nest), nest, ["Norway"]).ok


@pytest.mark.parametrize(("name", "same"), [("letters", True), ("join_words", False)])
def test_an_answer_in_another_case_has_to_give_the_same_again(name: str, same: bool) -> None:
    second: _Call = (name, {"text": "NORWAY"}, (Edge(1, "text", equal=True),))
    found = anyio.run(executed_item, *item_of_calls(MOUNTAIN, second), run)
    if same:
        assert isinstance(found, list)
        assert found[1].arguments == {"text": "Norway"}
    else:
        assert found == Unfit("a call does not give again what it gave")


GOLD: Sequence[tuple[str, dict[str, JSON]]] = (
    ("mountain_country", {"mountain": "Rauma"}), ("country_capital", {"country": "Peru"}),
    ("country_code", {"country": "Norway"}), ("add_digits", {"number": 98}),
    ("square_root", {"value": 2.25}), ("join_words", {"text": "ab"}), ("letters", {"text": "abc"}),
)  # fmt: skip


def pool_item() -> Item:
    item, _ = item_of_calls(*((name, arguments, ()) for name, arguments in GOLD))
    return item


@pytest.mark.parametrize("wide", range(1, 4))
@pytest.mark.parametrize("deep", range(2, 5))
def test_a_pool_gives_executed_calls_of_a_wanted_form(deep: int, wide: int) -> None:
    async def search() -> None:
        pool = await pool_of([pool_item()], {}, run)
        kinds = [one for one in (Structure.CHAIN, Structure.FORK) if possible(one, deep, wide)]
        for kind in kinds:
            found = await Search(pool, run).find(kind, deep, wide, "seed")
            again = await Search(pool, run).find(kind, deep, wide, "seed")
            assert found == again
            if found is None:  # seven tools do not make every form
                assert deep + wide > 5
                continue
            nest = assembled(found[1])
            assert isinstance(nest, Nest)
            assert (nest.depth, nest.width, nest.parts) == (deep, wide, 1)
            for call in found[1]:
                assert WORK[call.tool.name](**call.arguments) == call.value
                assert not (isinstance(call.value, dict) and "error" in call.value)

    anyio.run(search)


def test_a_reference_needs_a_reason() -> None:
    async def look() -> None:
        item = pool_item()
        named = await pool_of([item], {}, run)
        anything = await pool_of([item], {}, run, [*Meaning])
        starts = {one.tool.name: one for one in named.starts}
        mountain, capital = starts["mountain_country"], starts["country_capital"]
        [country] = executed_leaves("mountain_country", {"mountain": "Rauma"})
        [city] = executed_leaves("country_capital", {"country": "Norway"})
        slot = ("country", "str")
        assert named.meaning(mountain, country, capital, slot) == Meaning.NAME
        assert named.meaning(capital, city, capital, slot) == ""
        assert anything.meaning(capital, city, capital, slot) == Meaning.MODEL
        assert named.meaning(capital, city, starts["letters"], ("text", "str")) == Meaning.PLAIN
        assert anything.meaning(capital, city, starts["add_digits"], ("number", "int")) == ""

    anyio.run(look)


def executed_leaves(name: str, arguments: dict[str, JSON]) -> list[Any]:
    value = WORK[name](**arguments)
    return leaves_of(value, result_name(TOOLS[name].schema, arguments))


def test_distractors_are_near_of_other_names_and_prove_nothing() -> None:
    nests = [invented(f"set-{number}", 2, 2) for number in range(12)]
    pool = DistractorPool(api for nest in nests for api in nest.apis)
    own = nests[0]
    chosen = pool.nearest(own, 2)
    assert chosen is not None
    names = [api.name for api in chosen]
    assert len({*names}) == 2 * len(own.apis)
    assert all(unlike(name, [*own.by_name]) for name in names)
    steps = pool.choosing(own, 2)
    name = next(steps)
    left_out = names[0]
    found: Any = None
    try:
        while True:
            name = steps.send(name == left_out)
    except StopIteration as done:
        found = done.value
    assert left_out not in [api.name for api in found]
    assert pool.nearest(own, 50) is None


def test_names_of_golden_files_are_not_touched() -> None:
    path = Path(__file__).parents[1] / "golden" / "nestools_own.json"
    for row in json.loads(path.read_text())["rows"]:
        nest = Nest.from_row(row)
        assert json.dumps(nest.to_row(row["test_id"], row["field"])) == json.dumps(row)
