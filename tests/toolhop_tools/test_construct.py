"""The checks of `toolhop construct` that need no sandbox: parsing, plans, documents, books."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from toolhop_sandbox.base import Program
from toolhop_tools.certify.audit import Chance
from toolhop_tools.certify.model import HopProof, HopVerdict
from toolhop_tools.construct.accept import hazards, lucky
from toolhop_tools.construct.calls import call_findings
from toolhop_tools.construct.code import code_findings, program
from toolhop_tools.construct.documents import (
    document_findings,
    given_away,
    refined_findings,
    schema_of,
)
from toolhop_tools.construct.duplicates import (
    Against,
    crowded,
    duplicates,
)
from toolhop_tools.construct.facts import Wanted, facts_findings
from toolhop_tools.construct.likeness import question_likeness
from toolhop_tools.construct.plan import of_answers, plan_findings
from toolhop_tools.construct.prompts import NAMES, load
from toolhop_tools.construct.question import question_findings
from toolhop_tools.construct.replies import (
    Decomposition,
    FinalQuestion,
    GoldArguments,
    NewTool,
    Pair,
    Pairs,
    PlannedHop,
    Records,
    ToolDocument,
    normalised,
)
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import Findings, Place, Problem, Stage
from toolhop_tools.construct.templates import masked, templates, values_of
from toolhop_tools.construct.text import references, resolved, says
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import GoldCall, Hop, Item, Tool
from toolhop_tools.readers.folder import builtin

SEED = Seed("s", "Geography")


def plan(*hops: tuple[str, list[int]]) -> Decomposition:
    return Decomposition(hops=[PlannedHop(question=q, depends_on=k) for q, k in hops])


GOOD = plan(("Where is Velm?", []), ("What is the code of {1}?", [1]))


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (plan(("Where is Velm?", [])), "hop-count"),
        (plan(("Where is {2}?", [2]), ("What of {1}?", [1])), "acyclic"),
        (plan(("Where is Velm?", []), ("What is the code of it?", [1])), "references"),
        (plan(("Where is Velm?", []), ("Who is it?", []), ("What of {2}?", [2])),
         "each-hop-needed"),
        (plan(("What of Velm?", []), ("What of {1}?", [1]), ("What of {1}?", [1]),
              ("And of {2} and {3}?", [2, 3])), "own-question"),
    ],
)  # fmt: skip
def test_a_plan_that_is_no_chain_is_found(wrong: Decomposition, check: str) -> None:
    assert plan_findings(GOOD, SEED).ok
    assert check in plan_findings(wrong, SEED).failed


def test_a_seeds_sub_questions_are_a_plan_with_references() -> None:
    tasks = (
        ("Where does Anna Bell live?", "New Orun"),
        ("Who founded New Orun?", "Bell"),
        ("How many letters do Bell and New Orun have?", "11"),
        ("Which year is 11 years after 1110?", "1121"),
    )
    found = of_answers(replace(SEED, sub_task=tasks))
    assert [(hop.question, hop.depends_on) for hop in found.hops] == [
        ("Where does Anna Bell live?", []),
        ("Who founded {1}?", [1]),
        ("How many letters do {2} and {1} have?", [1, 2]),
        ("Which year is {3} years after 1110?", [3]),
    ]


def test_a_seed_whose_hops_do_not_build_on_each_other_is_found() -> None:
    tasks = (("Where does Anna live?", "Orun"), ("Who founded the town?", "Bell"))
    seed = replace(SEED, sub_task=tasks)
    assert "each-hop-needed" in plan_findings(of_answers(seed), seed).failed


def test_replies_are_parsed_strictly_and_a_fence_is_let_pass() -> None:
    good = '{"question": "Who?"}'
    shape = FinalQuestion
    assert not isinstance(shape.read(good), Problem)
    assert not isinstance(shape.read(f"```json\n{good}\n```"), Problem)
    for wrong in (f"Here: {good}", '{"question": 1}', '{"question": "Who?", "why": ""}', "{"):
        assert isinstance(shape.read(wrong), Problem)


def test_the_same_code_is_the_same_reply_whatever_its_comments() -> None:
    one = '{"analysis": "a", "code": "def f(x):\\n    return x  # so"}'
    other = '{"code": "def f(x):\\n\\n    return (x)", "analysis": "b"}'
    assert normalised(one) == normalised(other)
    assert normalised(one) != normalised(one.replace("return x", "return -x"))


def test_references_are_resolved_by_what_the_schema_wants() -> None:
    schema = {"properties": {"n": {"type": "integer"}, "t": {"type": "string"}}}
    found = resolved({"n": "{1}", "t": "{1}", "both": ["{1} of {2}"]}, ["855", "Orun"], schema)  # type: ignore[arg-type]
    assert found == {"n": 855, "t": "855", "both": ["855 of Orun"]}
    assert references("{2} and {1} and {2}") == [2, 1]
    assert says("the Bridge of Orun's", "bridge of orun")
    assert not says("Orunia", "Orun")
    assert [says("Is A a code?", one) for one in ("A", "IS", "a")] == [True, False, True]


def document(**more: object) -> NewTool:
    key = {"type": "string", "description": "Name of the country."}
    parameters = {"type": "object", "properties": {"country": key}, "required": ["country"],
                  "additionalProperties": False}  # fmt: skip
    tool = {"name": "look_up", "description": "Looks up the calling code of a country.",
            "parameters": parameters, **more}  # fmt: skip
    return NewTool.model_validate(
        {"analysis": "", "kind": "lookup", "tool": tool, "arguments": {"country": "{1}"}}
    )


QUESTION = "What is the calling code of Orun?"


def test_a_document_is_held_to_its_own_call_and_to_the_items_other_tools() -> None:
    good = document()
    assert document_findings(good, QUESTION, ["Orun"], []).ok
    other = replace(schema_of(good.tool), name="look_up_too")
    assert "own-document" in document_findings(good, QUESTION, ["Orun"], [other]).failed
    assert "own-name" in document_findings(good, QUESTION, [""], [schema_of(good.tool)]).failed
    assert "name" in document_findings(document(name="Look Up"), QUESTION, ["O"], []).failed
    asks = "What is the country of Orun?"
    assert "answer-no-input" in document_findings(good, asks, ["Orun"], []).failed


def refined(**extra: object) -> ToolDocument:
    properties = {
        "country": {"type": "string", "description": "Name of the country."},
        "field": {"type": "string", "description": "Which.", "enum": ["code", "size"],
                  "default": "code"},
        **extra,
    }  # fmt: skip
    schema = {"type": "object", "properties": properties, "required": ["country"],
              "additionalProperties": False}  # fmt: skip
    return ToolDocument.model_validate(
        {"name": "look_up", "description": "Looks up a country's code.", "parameters": schema}
    )


def test_a_refined_document_keeps_what_was_required_and_adds_a_few_options() -> None:
    assert refined_findings(refined(), document(), ["Orun"], []).ok
    many = {f"o{n}": {"type": "boolean", "description": "?", "default": True} for n in range(4)}
    assert "more-parameters" in refined_findings(refined(**many), document(), ["O"], []).failed
    plain = document().tool
    assert "more-parameters" in refined_findings(plain, document(), ["O"], []).failed
    bare = {"size": {"type": "integer", "description": "No default."}}
    assert "schema" in refined_findings(refined(**bare), document(), ["O"], []).failed


def test_a_document_that_says_the_gold_is_found_wherever_it_says_it() -> None:
    plain = schema_of(refined())
    assert [*given_away(plain, "103")] == []
    for said in (
        {"not_103": {"type": "boolean", "description": "?", "default": False}},
        {"hint": {"type": "string", "description": "As 103.", "default": ""}},
        {"hint": {"type": "string", "description": "?", "enum": ["103", ""], "default": ""}},
    ):
        assert [*given_away(schema_of(refined(**said)), "103")]


def table(count: int = 9) -> Records:
    return Records.model_validate({
        "records": [{"country": f"Orun{n}", "code": 100 + n} for n in range(count)],
        "lookup": {"parameters": {"country": "country"}, "answer": "code"},
    })  # fmt: skip


WANTED = Wanted({"country": "Orun3"}, others=("Orun5",), uses=("country",))


def test_a_table_has_the_record_asked_for_and_others_that_differ() -> None:
    parameters = refined().parameters
    assert facts_findings(table(), parameters, WANTED).ok
    assert facts_findings(table(7), parameters, WANTED).failed == {"enough"}
    assert "gold" in facts_findings(table(), parameters, replace(WANTED, answer="1")).failed
    lost = replace(WANTED, arguments={"country": "Nowhere"})
    assert "gold" in facts_findings(table(), parameters, lost).failed
    assert "others" in facts_findings(table(), parameters, replace(WANTED, others=("A",))).failed
    alike = table().model_copy(update={"records": [{"country": f"Orun{n}", "code": 7}
                                                   for n in range(9)]})  # fmt: skip
    assert {"distinct", "gold"} <= facts_findings(alike, parameters, WANTED).failed
    some = tuple(dict(one) for one in table().records[:8])
    assert "allowed" in facts_findings(table(), parameters, replace(WANTED, allowed=some)).failed


CODE = 'def look_up(country, field="code"):\n    return [r for r in RECORDS][0][field]\n'


@pytest.mark.parametrize(
    ("source", "check"),
    [
        ("def look_up(country\n", "compiles"),
        (f"{CODE}\nlook_up('x')\n", "defines-only"),
        (CODE.replace("look_up", "look"), "defines-only"),
        (CODE.replace("RECORDS", "OTHER"), "defines-only"),
        (f"RECORDS = []\n{CODE}", "defines-only"),
        (CODE.replace(', field="code"', ""), "parameters"),
        (f"import random\n{CODE}", "steady"),
        (f"from datetime import datetime\n{CODE}    datetime.now()\n", "steady"),
        (CODE.replace("    return", "    print(1)\n    return"), "steady"),
        (CODE.replace("    return", "    return 103 if field else"), "gold-only-in-table"),
    ],
)
def test_code_is_held_to_what_can_be_read_in_it(source: str, check: str) -> None:
    schema = schema_of(refined())
    assert code_findings(CODE, schema, table(), "103").ok
    assert check in code_findings(source, schema, table(), "103").failed


def test_a_program_has_its_table_before_its_function() -> None:
    found = program(schema_of(refined()), CODE, table())
    assert found.source.startswith("RECORDS = [\n    {'country': 'Orun0', 'code': 100},\n")
    pairs = Pairs(pairs=[Pair(arguments={}, result=n) for n in range(8)])
    assert program(schema_of(refined()), CODE, pairs).source == CODE


def test_a_gold_call_refers_to_earlier_answers_and_keeps_the_first_call() -> None:
    schema, first = schema_of(refined()), document()

    def failed(**arguments: str) -> frozenset[str]:
        call = GoldArguments.model_validate({"arguments": arguments})
        return call_findings(call, schema, first, [1], ["Orun"], QUESTION).failed

    assert failed(country="{1}") == frozenset()
    assert failed(country="Orun") == {"references", "no-literal-answer", "first-call-kept"}
    assert failed(country="{1}", colour="red") == {"valid-call"}


def test_a_question_says_every_value_and_no_answer() -> None:
    schema = schema_of(refined())
    tool = Tool(schema, program(schema, CODE, table()))
    hops = [
        Hop("Where is Velm?", "Orun", tool, GoldCall({"country": "Velm"}, "written")),
        Hop("The code of Orun?", "103", tool, GoldCall({"country": "{1}"}, "written")),
    ]
    assert question_findings("What is the code of the country of Velm?", hops).ok
    for question, check in (
        ("What is the code of that country?", "holds-every-value"),
        ("What is the code of Orun, where Velm is?", "no-sub-answer"),
        ("What does look_up say of Velm's country?", "no-tool-name"),
        ("Tell the code of the country of Velm", "a-question"),
    ):
        assert question_findings(question, hops).failed == {check}


@pytest.mark.parametrize(
    ("answer", "unsafe"),
    [("34", 1), ("120", 1), ("1,024", 1), ("answer", 1), ("Mars", 1), ("Quorn", 0), ("97", 0)],
)
def test_what_the_official_rule_finds_by_accident_is_marked(answer: str, unsafe: int) -> None:
    assert bool(hazards(answer, "Which planet is next to Mars?")) is bool(unsafe)


def test_how_often_chance_may_hit_depends_on_the_answer() -> None:
    def proof(hits: int) -> HopProof:
        return HopProof("t", HopVerdict.PROVEN, "", 1, chance=Chance(20, hits))

    assert [lucky("Quorn", proof(n)) for n in (2, 3)] == [False, True]
    assert [lucky("17", proof(n)) for n in (10, 11)] == [False, True]


def test_a_later_item_that_is_like_an_earlier_one_is_a_duplicate() -> None:
    one, other = builtin().items[:2]
    same = replace(other, id="again", question=one.question.upper())
    code = replace(one, id="code", question="Something else altogether, is it not?")
    assert duplicates([one, other]) == {}
    assert [*duplicates([one, other, same, code])] == ["again", "code"]
    assert question_likeness(one.question, one.question) == 1


def spelled(item: Item, each: int) -> Item:
    """A copy with a word put in before each few others."""

    def text(given: str) -> str:
        words = given.split()
        return " ".join(f"indeed {w}" if n % each == each - 1 else w for n, w in enumerate(words))

    hops = tuple(replace(hop, question=text(hop.question)) for hop in item.hops)
    return replace(item, id="copy", question=text(item.question), hops=hops)


@pytest.mark.parametrize("each", [2, 5, 7])
def test_a_copy_of_a_test_item_is_found_whatever_words_are_put_between(each: int) -> None:
    items = builtin().items
    tests = Against(items)
    assert all(tests.overlap(spelled(item, each)) for item in items)
    reworded = [
        replace(item, question="Work it out.", hops=tuple(
            replace(hop, question=f"Step {n}.") for n, hop in enumerate(item.hops)
        ))
        for item in items
    ]  # fmt: skip
    told = [tests.overlap(item) for item in reworded]
    assert all("values and answers are those of" in one for one in told)


def test_words_of_a_template_are_no_overlap_and_words_with_a_value_are() -> None:
    text = "What is the sum of the digits of the calling code of the country in which {} stands?"
    [one, other] = [
        replace(item, question=text.format(name), answer=name, hops=(replace(
            item.hops[0], question=f"Where is {name}?", answer=f"In {name}",
            gold=GoldCall({"mountain": name}, "written"),
        ),))
        for item, name in zip(builtin().items, ("Quenvebran", "Jasronesk"), strict=False)
    ]  # fmt: skip
    assert Against([one]).overlap(other) == ""
    assert "country in which quenvebran" in Against([one]).overlap(
        replace(other, question="The calling code of the country in which Quenvebran lies?")
    )
    assert duplicates([one, other]) == {}
    assert templates([one, other]) == {one.id: one.id, other.id: one.id}
    assert crowded([one, other], 1) == {other.id: f"one more than 1 of the template of {one.id}"}
    assert crowded([one, other], 2) == {}


def test_names_are_values_where_gold_calls_are_not_known() -> None:
    one = builtin().items[0]
    hop = replace(one.hops[0], question="Who wrote it?", answer="Ann Lee", gold=None)
    asked = "When was the mother of Yuen Woo Ping born? In Élan, say."
    item = replace(one, question=asked, answer="1901", hops=(hop,))
    assert {*values_of(item)} == {"Ann Lee", "1901", "Yuen Woo Ping", "Élan"}


def test_without_gold_calls_a_copy_is_found_by_the_places_where_names_stand() -> None:
    asked = "Did the uncle of Ann Lee and the aunt of Bo Ek meet the son of Cy Orr in Dijon?"
    told = tuple(replace(hop, gold=None) for hop in builtin().items[0].hops)
    one = replace(builtin().items[0], question=asked, hops=told)
    copy = replace(spelled(one, 7), hops=tuple(replace(hop, question="?") for hop in told))
    assert "places of its question with a value stand in" in Against([one]).overlap(copy)
    other = asked.replace("Ann Lee", "Al Fox").replace("Bo Ek", "Di Roy").replace("Cy Orr", "Ed Um")
    assert Against([one]).overlap(replace(copy, question=other)) == ""


def test_an_item_in_other_words_is_a_duplicate_by_its_values_and_answers() -> None:
    one = builtin().items[0]
    told = [replace(hop, question=f"Step {n}.") for n, hop in enumerate(one.hops)]
    tool = told[0].tool
    source = f"{tool.program.source}\nMORE = 1\n"
    told[0] = replace(told[0], tool=replace(tool, body=Program(source, tool.program.function)))
    again = replace(one, id="again", question="Which one is it?", hops=tuple(told))
    assert duplicates([one, again])["again"].startswith("in other words")
    told[-1] = replace(told[-1], answer="other")
    assert duplicates([one, replace(again, hops=tuple(told))]) == {}


def test_values_are_masked_whole_and_numbers_wherever_they_stand() -> None:
    text = "In 1901 the New York Times of new yorkers cost 3 cents, 40 in York."
    wanted = [
        "in",
        "*",
        "the",
        "*",
        "times",
        "of",
        "new",
        "yorkers",
        "cost",
        "*",
        "cents",
        "*",
        "in",
        "*",
    ]
    assert [*masked(text, ["New York", "York"])] == wanted


def test_findings_are_kept_as_json() -> None:
    problem = Problem("c", "message", {"a": 1}, ({"b": 2},), {"path": "a"}, Place(Stage.CODE, 2))
    found = Findings(frozenset({"x"}), (problem,), {"n": 1})
    assert Findings.from_json(found.to_json()) == found
    assert (found + Findings(frozenset({"c", "y"}))).held == {"x", "y"}


def test_a_study_replaces_prompts_by_files(tmp_path: Path) -> None:
    assert {*load().texts} == {*NAMES}
    (tmp_path / "code.txt").write_text("Write it.")
    own = load(tmp_path)
    assert own.system("code") == "Write it."
    assert own.system("tool") == load().system("tool")
    assert own.version("code") != load().version("code")
    (tmp_path / "codes.txt").write_text("?")
    with pytest.raises(BadChoice, match=r"codes\.txt"):
        load(tmp_path)
