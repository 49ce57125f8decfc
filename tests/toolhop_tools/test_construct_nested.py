"""Nested tasks: the checker of code, texts, executed calls, the search in a pool. All pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from studies.constructor.nest import invented
from studies.constructor.nest_code import as_code
from tests.conftest import SHARED
from toolhop_env.benchmarks.nestools.scorer import gold_calls, gold_of
from toolhop_env.benchmarks.nestools.shape import depth
from toolhop_sandbox.base import Program
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON, Outcome, Returned
from toolhop_tools.benchmarks.nestools.reader import item_of
from toolhop_tools.certify.model import Basis, Certificate, Edge, HopProof, HopVerdict
from toolhop_tools.construct.duplicates import Against
from toolhop_tools.construct.nested.accept import duplicates
from toolhop_tools.construct.nested.assemble import Executed, Leaf, Link, Unfit, assembled
from toolhop_tools.construct.nested.code import chain_findings
from toolhop_tools.construct.nested.distract import DistractorPool
from toolhop_tools.construct.nested.items import executed_item, returned
from toolhop_tools.construct.nested.kinds import Kinds
from toolhop_tools.construct.nested.kinds import load as load_kinds
from toolhop_tools.construct.nested.model import Nest
from toolhop_tools.construct.nested.pool import Meaning, Pool, Search, pool_of
from toolhop_tools.construct.nested.replies import ChainCode
from toolhop_tools.construct.nested.shapes import Structure, possible
from toolhop_tools.construct.nested.task import plain_task, task_findings
from toolhop_tools.construct.stages import Problem
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema
from toolhop_tools.perturb.distractors import unlike
from toolhop_tools.readers.folder import builtin

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
    found, nest = chain_findings(CODE, 2, 1)
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
    found, nest = chain_findings(code, *((2, 1) if check == "loose-call" else ()))
    assert nest is None
    assert check in found.failed
    assert all("ine " in one.message for one in found.problems)


def test_a_form_that_is_asked_for_has_to_be_met() -> None:
    for wanted, check in (((3, 1), "depth"), ((2, 2), "width")):
        assert chain_findings(CODE, *wanted)[0].failed == {check}


def test_a_fence_is_let_pass_and_words_around_are_not() -> None:
    assert not isinstance(ChainCode.read(f"```python\n{CODE}```"), Problem)
    assert isinstance(ChainCode.read(f"Here it is:\n{CODE}"), Problem)


@pytest.mark.parametrize("wide", range(1, 5))
@pytest.mark.parametrize("deep", range(2, 7))
def test_what_is_written_as_code_is_read_back(deep: int, wide: int) -> None:
    nest = invented(f"test-{deep}-{wide}", deep, wide)
    found, again = chain_findings(as_code(nest), deep, wide)
    assert (found.problems, again) == ((), nest)
    assert depth(gold_calls(gold_of(item_of(nest.to_row(1, "A/B"))))) == deep


@pytest.mark.data
def test_the_checker_takes_the_published_chains() -> None:
    path = SHARED / "nestools" / "test_data-500.jsonl"
    golden = json.loads((SHARED / "golden" / "nestools.json").read_text())
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row, (deep, _) in zip(rows, golden["depth_and_structure"]["values"], strict=True):
        nest = Nest.from_row(row)
        found, again = chain_findings(as_code(nest))
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
        (f"{SAID} Give it API_call_0.", "no-placeholder"),
        (f"{SAID} Give it data1.", "no-placeholder"),
        (f"{SAID} It is the Vellin.", "no-result"),
        ("Book it.", "length"),
    ],
)
def test_a_text_says_all_values_and_gives_nothing_away(text: str, check: str) -> None:
    nest = chain_findings(CODE)[1]
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
    "mountain_facts": lambda mountain, want: "Norway" if want == "country" else "Rauma range",
    "join_words": lambda text, with_text="-": f"{text}{with_text}{text}",
    "join_all": lambda words: "-".join([*words]),
    "same_text": lambda text: text,
    "no_text": lambda text: "" if text == "Norway" else "some",
    "letters": lambda text: len(text) * 1,
}
TOOLS = {
    "mountain_country": tool("mountain_country", {"mountain": "string"}),
    "country_capital": tool("country_capital", {"country": "string"}),
    "country_code": tool("country_code", {"country": "string"}),
    "add_digits": tool("add_digits", {"number": "integer"}),
    "square_root": tool("square_root", {"value": "number"}),
    "mountain_facts": tool("mountain_facts", {"mountain": "string", "want": "string"}),
    "join_words": tool("join_words", {"text": "string"}, with_text="string"),
    "join_all": tool("join_all", {"words": "array"}),
    "same_text": tool("same_text", {"text": "string"}),
    "no_text": tool("no_text", {"text": "string"}),
    "letters": tool("letters", {"text": "string"}),
}

_COUNTRY = {"name": "country", "kind": "country", "about": "the country"}
KINDS = Kinds.model_validate({
    "kinds": {
        "name": {"words": "a name", "vague": True}, "code": {"words": "a code"},
        "country": {"words": "a country", "is": ["name"]}, "city": {"words": "a city"},
    },
    "tools": {
        "mountain_country": {"responses": {"": _COUNTRY}},
        "mountain_facts": {"responses": {"": {"of": "want", "cases": {"country": _COUNTRY}}}},
        "country_capital": {
            "parameters": {"country": "country"},
            "responses": {"": {"name": "capital", "kind": "city", "about": "the capital"}},
        },
        "country_code": {
            "parameters": {"country": "country"},
            "responses": {
                "calling_code": {
                    "name": "calling_code", "kind": "code", "about": "the code to dial"
                },
            },
        },
        "letters": {"parameters": {"text": "name"}},
        "same_text": {"parameters": {"text": "name"}},
        "no_text": {"parameters": {"text": "name"}},
        "join_words": {
            "parameters": {"text": "name"},
            "responses": {"": {"name": "joined", "kind": "name", "about": "the words"}},
        },
        "join_all": {
            "parameters": {"words": "name"},
            "responses": {"": {"name": "joined", "kind": "name", "about": "the words"}},
        },
    },
})  # fmt: skip


async def run(program: Program, arguments: Mapping[str, JSON]) -> Outcome:
    return Returned(json.dumps(WORK[program.function](**arguments)))


def executed(name: str, arguments: dict[str, JSON], *links: Link) -> Executed:
    return Executed(TOOLS[name], arguments, WORK[name](**arguments), links)


DIALLED = Leaf(("calling_code",), 47)


def why_unfit(*calls: Executed) -> str:
    with pytest.raises(Unfit) as caught:
        assembled(calls, KINDS)
    return str(caught.value)


def test_leaves_of_results_are_responses_with_types() -> None:
    calls = [
        executed("country_code", {"country": "Norway"}),
        executed("square_root", {"value": 47}, Link("value", None, 0, DIALLED)),
    ]
    nest = assembled(calls, KINDS)
    first = nest.apis[0].responses
    assert {key: one.type for key, one in first.items()} == {"calling_code": "float", "name": "str"}
    assert nest.calls[1].parameters == {"value": "API_call_0"}
    both = executed("add_digits", {"number": 47}, Link("number", None, 0, DIALLED))
    assert "differ in type" in why_unfit(*calls, both)
    wrong = executed("square_root", {"value": 48}, Link("value", None, 0, DIALLED))
    assert "not the argument" in why_unfit(calls[0], wrong)


def test_fields_are_described_by_the_kinds_file_and_else_by_the_document() -> None:
    call = executed("country_code", {"country": "Norway"})
    bare = Executed(
        Tool(
            ToolSchema("country_code", "Codes of a country.", {"properties": {"country": {}}}),
            Program("", "country_code"),
        ),
        call.arguments,
        call.value,
    )
    for kinds, parameter, response in (
        (KINDS, "a country", "the code to dial"),
        (Kinds(), "country: Codes of a country", "calling code: Codes of a country."),
    ):
        api = assembled([bare], kinds).apis[0]
        assert api.parameters["country"].description == parameter
        assert api.responses["calling_code"].description == response


def test_calls_of_one_tool_that_give_different_things_share_a_name_that_holds_for_both() -> None:
    both = [executed("mountain_facts", {"mountain": "Rauma", "want": want})
            for want in ("country", "range")]  # fmt: skip
    assert [*assembled(both[:1], KINDS).apis[0].responses] == ["country"]
    assert [*assembled(both, KINDS).apis[0].responses] == ["result"]


_Call: TypeAlias = tuple[str, dict[str, JSON], tuple[Edge, ...]]


def item_of_calls(*calls: _Call) -> tuple[Item, Certificate]:
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
    if why:
        with pytest.raises(Unfit, match=why):
            anyio.run(executed_item, item, certificate, run)
        return
    calls = anyio.run(executed_item, item, certificate, run)
    nest = assembled(calls, KINDS)
    assert nest.calls[1].parameters == {"country": "API_call_0"}
    assert task_findings(plain_task(nest), nest, ["Norway"]).ok


@pytest.mark.parametrize(("name", "same"), [("letters", True), ("join_words", False)])
def test_an_answer_in_another_case_has_to_give_the_same_again(name: str, same: bool) -> None:
    second: _Call = (name, {"text": "NORWAY"}, (Edge(1, "text", equal=True),))
    item, certificate = item_of_calls(MOUNTAIN, second)
    if same:
        calls = anyio.run(executed_item, item, certificate, run)
        assert calls[1].arguments == {"text": "Norway"}
    else:
        with pytest.raises(Unfit, match="does not give again"):
            anyio.run(executed_item, item, certificate, run)


def test_an_element_of_a_list_may_be_a_response() -> None:
    second: _Call = ("join_all", {"words": ["Peru", "Norway"]}, (Edge(1, "words.1", equal=True),))
    calls = anyio.run(executed_item, *item_of_calls(MOUNTAIN, second), run)
    assert assembled(calls, KINDS).calls[1].parameters == {"words": ["Peru", "API_call_0"]}


# -- kinds ----------------------------------------------------------------------------------------


def test_a_kind_goes_where_it_or_a_wider_kind_is_taken() -> None:
    takes = KINDS.takes
    assert takes("country", "country")
    assert takes("name", "country")
    assert takes("[name]", "[country]")
    assert not takes("country", "name")
    assert not takes("name", "[country]")
    assert not takes("code", "country")
    assert not takes("", "country")
    assert not takes("name", None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kinds": {"a": {"words": "an a", "is": ["b"]}}}, "a is in b, and there is no such kind"),
        ({"tools": {"nothing": {}}}, "no tool is called nothing"),
        ({"tools": {"letters": {"parameters": {"words": "name"}}}}, "no parameter words"),
        ({"tools": {"letters": {"parameters": {"text": "thing"}}}}, "no kind thing"),
        ({"tools": {"letters": {"parameters": {"text": 1}}}}, "tools.letters.parameters.text"),
        ({"tool": {}}, "Extra inputs are not permitted"),
    ],
)
def test_a_file_of_kinds_that_means_nothing_is_refused(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    plain = KINDS.model_dump(mode="json", by_alias=True)
    path = tmp_path / "kinds.json"
    path.write_text(json.dumps({**plain, **{k: {**plain.get(k, {}), **v}
                                            for k, v in change.items()}}))  # fmt: skip
    with pytest.raises(BadChoice, match=message):
        load_kinds(path, TOOLS.values())


def test_the_built_in_kinds_name_every_tool_and_every_result() -> None:
    tools = {hop.tool.name: hop.tool for item in builtin().items for hop in item.hops}
    kinds = load_kinds(None, tools.values())
    assert {*kinds.tools} == {*tools}
    for item in builtin().items:
        for hop in item.hops:
            assert hop.gold is not None
            assert kinds.response(hop.tool, (), hop.gold.arguments) is not None, hop.tool.name


@pytest.mark.heavy
def test_what_is_of_a_kind_is_taken_by_the_parameters_of_the_kind() -> None:
    """Of each kind some value is taken, though tables do not know every entity; of kinds that are
    forms (dates, texts, numbers) most are, by each parameter."""

    async def look() -> tuple[list[str], list[str]]:
        tools = {hop.tool.name: hop.tool for item in builtin().items for hop in item.hops}
        kinds = load_kinds(None, tools.values())
        async with await open_sandbox("process", max_workers=1) as sandbox, sandbox.session() as s:
            pool = await pool_of(builtin().items, {}, kinds, s.call)
            taken_of: dict[str, bool] = {}
            refused = []
            for start in pool.starts:
                for name in start.arguments:
                    wanted = kinds.parameter(start.tool, name, start.arguments)
                    values = [source.value for source in pool.starts
                              if (stated := kinds.response(source.tool, (), source.arguments))
                              and kinds.takes(wanted, stated.kind)]  # fmt: skip
                    if not values or isinstance(start.arguments[name], list):
                        continue
                    sets = [{**start.arguments, name: value} for value in values]
                    taken = [returned(await s.call(start.tool.program, one)) is not None
                             for one in sets]  # fmt: skip
                    taken_of[wanted] = taken_of.get(wanted, False) or any(taken)
                    if wanted in FORMS and sum(taken) < len(taken) / 2:
                        refused.append(f"{start.tool.name}.{name}: {values[taken.index(False)]}")
            return [kind for kind, some in taken_of.items() if not some], refused

    none_taken, refused = anyio.run(look)
    assert none_taken == []
    assert refused == []


FORMS = frozenset({"date", "birth-date", "text", "name", "whole-number", "days", "formula"})


# -- a pool ---------------------------------------------------------------------------------------

GOLD: Sequence[tuple[str, dict[str, JSON]]] = (
    ("mountain_country", {"mountain": "Rauma"}), ("country_capital", {"country": "Peru"}),
    ("country_code", {"country": "Norway"}), ("add_digits", {"number": 98}),
    ("square_root", {"value": 2.25}), ("join_words", {"text": "ab"}), ("letters", {"text": "abc"}),
    ("join_all", {"words": ["ab", "cd"]}),
)  # fmt: skip


def pool_item() -> Item:
    return item_of_calls(*((name, arguments, ()) for name, arguments in GOLD))[0]


@pytest.mark.parametrize("wide", range(1, 4))
@pytest.mark.parametrize("deep", range(2, 5))
def test_a_pool_gives_executed_calls_of_a_wanted_form(deep: int, wide: int) -> None:
    async def search() -> None:
        pool = await pool_of([pool_item()], {}, KINDS, run)
        for kind in Structure:
            if not possible(kind, deep, wide):
                continue
            found = await Search(pool, run).find(kind, deep, wide, "seed")
            assert found == await Search(pool, run).find(kind, deep, wide, "seed")
            if found is None:  # eight tools do not make every form
                assert deep + wide > 3
                continue
            nest = assembled(found[1], KINDS)
            assert (nest.depth, nest.width, len(nest.parts)) == (deep, wide, 1)
            for call in found[1]:
                assert WORK[call.tool.name](**call.arguments) == call.value
                assert not (isinstance(call.value, dict) and "error" in call.value)
                for link in call.links:
                    assert link.meaning == Meaning.KIND

    anyio.run(search)


def meaning(
    pool: Pool, source: Executed, path: tuple[str, ...], target: str, slot: tuple[str, int | None]
) -> str:
    gold = executed(target, dict(GOLD)[target])
    return meanings(pool, source, gold).get((path, *slot), "")


def meanings(pool: Pool, source: Executed, target: Executed) -> Mapping[tuple[Any, ...], str]:
    return {(link.leaf.path, link.argument, link.index): link.meaning
            for link in pool.links(source, 0, target)}  # fmt: skip


def test_a_reference_needs_a_reason() -> None:
    async def look() -> None:
        pool = await pool_of([pool_item()], {}, KINDS, run)
        doubtful = await pool_of([pool_item()], {}, KINDS, run, doubtful=True)
        mountain = executed("mountain_country", {"mountain": "Rauma"})
        capital = executed("country_capital", {"country": "Norway"})
        code = executed("country_code", {"country": "Norway"})
        country, text, words = ("country", None), ("text", None), ("words", 1)
        assert meaning(pool, mountain, (), "country_capital", country) == Meaning.KIND
        assert meaning(pool, mountain, (), "letters", text) == Meaning.KIND
        assert meaning(pool, mountain, (), "join_all", words) == Meaning.KIND
        assert meaning(pool, capital, (), "country_capital", country) == ""
        assert meaning(doubtful, capital, (), "country_capital", country) == Meaning.MODEL
        assert meaning(pool, code, ("calling_code",), "add_digits", ("number", None)) == ""
        assert meaning(doubtful, mountain, (), "add_digits", ("number", None)) == ""

    anyio.run(look)


def test_a_reference_of_an_item_holds_for_the_call_that_the_item_makes() -> None:
    async def look() -> None:
        digits: _Call = ("add_digits", {"number": 47}, (Edge(1, "number", equal=True),))
        code: _Call = ("country_code", {"country": "Norway"}, ())
        item, certificate = item_of_calls(code, digits)
        pool = await pool_of([item], {"i": certificate}, KINDS, run)
        source = executed("country_code", {"country": "Norway"})
        own, other = (executed("add_digits", {"number": number}) for number in (47, 98))
        place = (("calling_code",), "number", None)
        assert meanings(pool, source, own) == {place: Meaning.ITEM}
        assert meanings(pool, source, other) == {}

    anyio.run(look)


def test_a_result_that_is_nothing_or_known_already_is_no_step() -> None:
    async def search() -> None:
        gold: Sequence[_Call] = [
            ("mountain_country", {"mountain": "Rauma"}, ()), ("same_text", {"text": "ab"}, ()),
            ("no_text", {"text": "ab"}, ()),
        ]  # fmt: skip
        pool = await pool_of([item_of_calls(*gold)[0]], {}, KINDS, run)
        assert await Search(pool, run).find(Structure.CHAIN, 2, 1, "seed") is None

    anyio.run(search)


def test_distractors_are_near_of_other_names() -> None:
    nests = [invented(f"set-{number}", 2, 2) for number in range(12)]
    pool = DistractorPool(api for nest in nests for api in nest.apis)
    own = nests[0]
    chosen = pool.beside(own, 2)
    assert chosen is not None
    names = [api.name for api in chosen]
    assert len({*names}) == 2 * len(own.apis)
    assert all(unlike(name, [*own.by_name]) for name in names)
    others = pool.beside(own, 2, {names[0]})
    assert others is not None
    assert names[0] not in [api.name for api in others]
    assert pool.beside(own, 50) is None


def test_names_of_golden_files_are_not_touched() -> None:
    path = Path(__file__).parents[1] / "golden" / "nestools_own.json"
    for row in json.loads(path.read_text())["rows"]:
        nest = Nest.from_row(row)
        assert json.dumps(nest.to_row(row["test_id"], row["field"])) == json.dumps(row)
