"""The checks of `toolhop construct` that need no sandbox: parsing, plans, documents, books."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.audit import Chance
from toolhop_tools.certify.model import HopProof, HopVerdict
from toolhop_tools.construct.accept import hazards, lucky
from toolhop_tools.construct.calls import answer_findings, call_findings
from toolhop_tools.construct.code import code_findings, program
from toolhop_tools.construct.contract import schema_of
from toolhop_tools.construct.documents import document_findings, given_away, refined_findings
from toolhop_tools.construct.duplicates import (
    Against,
    crowded,
    duplicates,
    masked,
    templates,
    values_of,
)
from toolhop_tools.construct.facts import Wanted, facts_findings, moved
from toolhop_tools.construct.plan import leaks, of_answers, plan_findings, question_findings
from toolhop_tools.construct.prompts import NAMES, load
from toolhop_tools.construct.replies import (
    Contract,
    Decomposition,
    FinalQuestion,
    GoldArguments,
    NewTool,
    Pair,
    Pairs,
    PlannedHop,
    Records,
    RefinedTool,
    normalised,
)
from toolhop_tools.construct.seeds import Seed
from toolhop_tools.construct.stages import FINDINGS, Findings, Place, Problem, Stage
from toolhop_tools.construct.text import references, resolved, says
from toolhop_tools.errors import BadChoice
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema
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


def test_a_part_of_an_earlier_answer_is_no_leak_and_the_last_answer_is_one() -> None:
    tasks = (
        ("Who keeps the light of Orun?", "Anna Bell"),
        ("What is the first name of Anna Bell?", "Anna"),
        ("What is the last letter of Anna?", "a"),
    )
    seed = replace(SEED, sub_task=tasks)
    assert plan_findings(of_answers(seed), seed).ok
    assert [*leaks(["Who is Anna?", "What of {1}?"], "Anna")]
    assert not [*leaks(["Who is it?", "What of {1}?"], "Anna")]


def test_a_seed_whose_hops_do_not_build_on_each_other_is_found() -> None:
    tasks = (("Where does Anna live?", "Orun"), ("Who founded the town?", "Bell"))
    seed = replace(SEED, sub_task=tasks)
    assert "each-hop-needed" in plan_findings(of_answers(seed), seed).failed


GIVEN = '{"question": "Who?"}'


@pytest.mark.parametrize(
    "text",
    [
        GIVEN,
        f"```json\n{GIVEN}\n```",
        f'<think>Or {{"question": "Why?"}}, perhaps.</think>\n{GIVEN}',
        f"Certainly! Here it is:\n{GIVEN}\nI hope this helps.",
    ],
)
def test_a_reply_is_read_in_a_fence_after_thoughts_and_within_prose(text: str) -> None:
    assert FinalQuestion.read(text) == FinalQuestion(question="Who?")


@pytest.mark.parametrize(
    "text",
    [
        '{"question": 1}',
        '{"question": "Who?", "why": ""}',
        "{",
        '{"question": "What?", "question": "Who?"}',
        '{"question": "' + "x" * 300_000 + '"}',
        '{"question": "Wh\u200bat is it?"}',
        '{"question": NaN}',
        "[" * 100_000,
    ],
    ids=["type", "field", "cut", "key-twice", "huge", "unseen", "nan", "deep"],
)
def test_what_is_in_a_reply_is_held_to_its_shape(text: str) -> None:
    problem = FinalQuestion.read(text)
    assert isinstance(problem, Problem)
    assert "does not parse" in problem.message


def test_a_key_stands_once_at_every_depth_and_no_value_is_nan() -> None:
    assert isinstance(GoldArguments.read('{"arguments": {"a": 1, "a": 2}}'), Problem)
    for number in ("NaN", "1e999", "-1e999"):
        problem = GoldArguments.read(f'{{"arguments": {{"a": [{number}]}}}}')
        assert isinstance(problem, Problem)
        assert number in problem.message
    assert not isinstance(GoldArguments.read('{"arguments": {"a": 1e300}}'), Problem)


def test_a_reply_with_many_keys_is_read_in_time() -> None:
    keys = ", ".join(f'"k{number}": 1' for number in range(14_000))
    text = f'{{"arguments": {{{keys}}}, "answer_path": []}}'
    start = time.process_time()
    assert isinstance(GoldArguments.read(text), GoldArguments)
    assert time.process_time() - start < 1


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


CONTRACT = {
    "result_form": {"type": ["string", "integer"]},
    "errors": {"country": "country: {given} is not known; known are {known}"},
    "covers": {"records": 9, "key": ["country"]},
}


def document(**more: object) -> NewTool:
    key = {"type": "string", "description": "Name of the country."}
    parameters = {"type": "object", "properties": {"country": key}, "required": ["country"],
                  "additionalProperties": False}  # fmt: skip
    tool = {"name": "look_up", "description": "Looks up the calling code of a country.",
            "parameters": parameters, **more}  # fmt: skip
    return NewTool.model_validate({
        "analysis": "", "kind": "lookup", "tool": tool, "contract": CONTRACT,
        "arguments": {"country": "{1}"},
    })  # fmt: skip


def shown(new: NewTool) -> ToolSchema:
    return schema_of(new.tool, new.contract)


def test_a_document_is_held_to_its_own_call_and_to_the_items_other_tools() -> None:
    good = document()
    assert document_findings(good, ["Orun"], []).ok
    assert "own-name" in document_findings(good, ["O"], [shown(good)]).failed
    assert "name" in document_findings(document(name="Look Up"), ["O"], []).failed
    other = good.model_copy(update={"arguments": {"land": "{1}"}})
    assert "call" in document_findings(other, ["Orun"], []).failed
    says_it = document(description="Looks up a country such as Orun.")
    assert "no-earlier-answer" in document_findings(says_it, ["Orun"], []).failed


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "thing"},
        {"additionalProperties": True},
        {"required": []},
        {"required": ["country", "size"]},
        {"properties": {"country": {"type": "string"}}},
        {"properties": {"country": {"type": "string", "description": "?", "default": "x"}}},
        {"properties": {"class": {"type": "string", "description": "?"}}, "required": ["class"]},
    ],
)
def test_a_schema_that_cannot_be_a_tools_is_found(parameters: dict[str, object]) -> None:
    whole = {**document().tool.parameters, **parameters}
    assert "schema" in document_findings(document(parameters=whole), ["Orun"], []).failed


def refined(**extra: object) -> RefinedTool:
    properties = {
        "country": {"type": "string", "description": "Name of the country."},
        "field": {"type": "string", "description": "Which.", "enum": ["code", "size"],
                  "default": "code"},
        **extra,
    }  # fmt: skip
    schema = {"type": "object", "properties": properties, "required": ["country"],
              "additionalProperties": False}  # fmt: skip
    tool = {"name": "look_up", "description": "Looks up a country's code.", "parameters": schema}
    return RefinedTool.model_validate({"analysis": "", "tool": tool, "contract": CONTRACT})


def refined_schema(**extra: object) -> ToolSchema:
    reply = refined(**extra)
    return schema_of(reply.tool, reply.contract)


def test_a_refined_document_keeps_what_was_required_and_adds_a_few_options() -> None:
    first = document()
    assert refined_findings(refined(), first, ["Orun"]).ok
    many = {f"o{n}": {"type": "boolean", "description": "?", "default": True} for n in range(4)}
    assert "more-parameters" in refined_findings(refined(**many), first, ["O"]).failed
    plain = refined().model_copy(update={"tool": first.tool})
    assert "more-parameters" in refined_findings(plain, first, ["O"]).failed
    bare = {"size": {"type": "integer", "description": "No default."}}
    assert "schema" in refined_findings(refined(**bare), first, ["O"]).failed
    renamed = refined().tool.model_copy(update={"name": "find_out"})
    changed = refined().model_copy(update={"tool": renamed})
    assert "same-name" in refined_findings(changed, first, ["O"]).failed


@pytest.mark.parametrize(
    ("parameters", "leaks"),
    [
        ({"properties": {"a": {"examples": ["Tarsenia"]}}}, True),
        ({"properties": {"a": {"$comment": "Tarsenia is 871"}}}, True),
        ({"properties": {"a": {"pattern": "^(Tarsenia|X)$"}}}, True),
        ({"properties": {"a": {"enum": ["Tarsenia", "B"]}}}, True),
        ({"properties": {"a": {"enum": ["Tarsenia", *"BCDEFGH"]}}}, False),
        ({"properties": {"a": {"type": "string"}}}, False),
    ],
)
def test_a_document_says_no_answer_of_any_hop(parameters: dict[str, JSON], leaks: bool) -> None:
    schema = ToolSchema("look_up", "Looks up.", parameters)
    assert bool([*given_away(schema, "Tarsenia", of_keys=True)]) is leaks


def table(count: int = 9) -> Records:
    return Records.model_validate({
        "records": [{"country": f"Orun{n}", "code": 100 + n} for n in range(count)],
        "lookup": {"parameters": {"country": "country"}, "answer": "code"},
    })  # fmt: skip


WANTED = Wanted({"country": "Orun3"}, others=("Orun5",), uses=("country",))


def table_failed(facts: Records, wanted: Wanted) -> frozenset[str]:
    own = refined()
    return facts_findings(facts, own.tool.parameters, own.contract, wanted).failed


def test_a_table_has_the_record_asked_for_and_others_that_differ() -> None:
    assert table_failed(table(), WANTED) == frozenset()
    assert table_failed(table(7), WANTED) == {"enough", "as-covered"}
    assert "gold" in table_failed(table(), replace(WANTED, answer="1"))
    assert "gold" in table_failed(table(), replace(WANTED, arguments={"country": "Nowhere"}))
    assert "others" in table_failed(table(), replace(WANTED, others=("A",)))
    alike = table().model_copy(update={"records": [{"country": f"Orun{n}", "code": 7}
                                                   for n in range(9)]})  # fmt: skip
    assert {"distinct", "gold"} <= table_failed(alike, WANTED)
    some = tuple(dict(record) for record in table().records[:8])
    assert "allowed" in table_failed(table(), replace(WANTED, allowed=some))


@pytest.mark.parametrize("odd", ["", " 7", "7 ", 2**53 + 1])
def test_a_table_has_no_value_that_readers_change(odd: str | int) -> None:
    records = [*table().records[:8], {"country": "Orun8", "code": odd}]
    assert "values" in table_failed(table().model_copy(update={"records": records}), WANTED)


def test_a_moved_table_keeps_its_keys_and_says_other_things_of_them() -> None:
    records = moved(table()).records
    assert [record["country"] for record in records] == [f"Orun{n}" for n in range(9)]
    assert [record["code"] for record in records] == [*range(101, 109), 100]


def test_pairs_have_to_say_what_the_call_itself_gives() -> None:
    parameters: dict[str, JSON] = {"properties": {"a": {"type": "integer"}}}
    contract = Contract(result_form={"type": "integer"})
    pairs = Pairs(pairs=[Pair(arguments={"a": n}, result=n * n) for n in range(8)])
    assert facts_findings(pairs, parameters, contract, Wanted({"a": 3})).ok
    assert facts_findings(pairs, parameters, contract, Wanted({"a": 9})).failed == {"gold"}


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
    schema = refined_schema()
    assert code_findings(CODE, schema, table(), "103").ok
    assert check in code_findings(source, schema, table(), "103").failed


def test_a_program_has_its_table_before_its_function() -> None:
    found = program(refined_schema(), CODE, table())
    assert found.source.startswith("RECORDS = [\n    {'country': 'Orun0', 'code': 100},\n")
    pairs = Pairs(pairs=[Pair(arguments={}, result=n) for n in range(8)])
    assert program(refined_schema(), CODE, pairs).source == CODE


def test_a_gold_call_refers_to_earlier_answers_and_keeps_the_first_call() -> None:
    schema, first = refined_schema(), document()

    def failed(**arguments: str) -> frozenset[str]:
        call = GoldArguments.model_validate({"arguments": arguments})
        return call_findings(call, schema, first, [1], ["Orun"]).failed

    assert failed(country="{1}") == frozenset()
    assert failed(country="Orun") == {"references", "no-literal-answer", "first-call-kept"}
    assert failed(country="{1}", colour="red") == {"valid-call"}


def test_a_question_has_a_form_and_gives_nothing_away() -> None:
    schema = refined_schema()
    tool = Tool(schema, program(schema, CODE, table()))
    hops = [
        Hop("Where is Velm?", "Orun", tool, GoldCall({"country": "Velm"}, "written")),
        Hop("The code of Orun?", "103", tool, GoldCall({"country": "{1}"}, "written")),
    ]
    assert question_findings("What is the code of the country of Velm?", hops).ok
    for question, check in (
        ("What is it?", "a-question"),
        ("What is the code of {1}, if you please?", "a-question"),
        ("What is the code of Orun, where Velm is?", "no-answer"),
        ("Is 103 the code of the country of Velm?", "no-answer"),
        ("What does look_up say of Velm's country?", "no-tool-name"),
    ):
        assert question_findings(question, hops).failed == {check}


@pytest.mark.parametrize(
    ("answer", "holds"), [("9" * 200, False), (None, False), ("16", True), ("1874-09-21", True)]
)
def test_an_answer_is_short_and_what_the_facts_say(answer: str | None, holds: bool) -> None:
    assert answer_findings(answer, str(answer), None, "").ok is holds
    assert not answer_findings(answer, str(answer), "17", "").ok
    assert not answer_findings(answer, str(answer), None, "17").ok


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
    assert all("the same values and answers as" in text for text in told)


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


@pytest.mark.parametrize("each", [2, 3, 7])
def test_without_gold_calls_a_copy_is_found_by_its_names(each: int) -> None:
    asked = "Did the uncle of Ann Lee and the aunt of Bo Ek meet the son of Cy Orr in Dijon?"
    hops = tuple(replace(hop, gold=None) for hop in builtin().items[0].hops)
    item = replace(builtin().items[0], question=asked, hops=hops)
    assert "the same values and answers as" in Against([item]).overlap(spelled(item, each))
    other = asked.replace("Ann Lee", "Al Fox").replace("Bo Ek", "Di Roy").replace("Cy Orr", "Ed Um")
    hops = tuple(replace(hop, question="?") for hop in hops)
    assert Against([item]).overlap(replace(item, question=other, hops=hops)) == ""


def test_an_item_in_other_words_is_a_duplicate_by_its_values_and_answers() -> None:
    one = builtin().items[0]
    told = [replace(hop, question=f"Step {n}.") for n, hop in enumerate(one.hops)]
    tool = told[0].tool
    source = f"{tool.program.source}\nMORE = 1\n"
    told[0] = replace(told[0], tool=replace(tool, body=Program(source, tool.program.function)))
    again = replace(one, id="again", question="Which one is it?", hops=tuple(told))
    assert duplicates([one, again])["again"].endswith("the same values and answers")
    told[-1] = replace(told[-1], answer="other")
    assert duplicates([one, replace(again, hops=tuple(told))]) == {}


def test_values_are_masked_whole_and_numbers_wherever_they_stand() -> None:
    text = "In 1901 the New York Times of new yorkers cost 3 cents, 40 in York."
    wanted = "in * the * times of new yorkers cost * cents * in *"
    assert masked(text, ["New York", "York"]) == wanted


def test_findings_are_kept_as_json() -> None:
    problem = Problem("c", "message", {"a": 1}, ({"b": 2},), {"path": "a"}, Place(Stage.CODE, 2))
    found = Findings(frozenset({"x"}), (problem,), {"n": 1})
    assert FINDINGS.validate_python(json.loads(json.dumps(found.to_json()))) == found
    assert (found + Findings(frozenset({"c", "y"}))).held == {"x", "y"}


def test_a_study_replaces_prompts_by_files(tmp_path: Path) -> None:
    assert {*load().texts} == {*NAMES}
    (tmp_path / "code.txt").write_text("Write it.")
    own = load(tmp_path)
    assert own.texts["code"] == "Write it."
    assert own.texts["tool"] == load().texts["tool"]
    assert own.version("code") != load().version("code")
    (tmp_path / "codes.txt").write_text("?")
    with pytest.raises(BadChoice, match=r"codes\.txt"):
        load(tmp_path)
