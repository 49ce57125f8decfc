"""What documents, tables and pairs of made items say of themselves, and what is found in them."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest

from tests.inline import inlined
from tests.toolhop_tools.certifying import BASIS
from toolhop_sandbox.choose import open_sandbox
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.calls import answer_findings
from toolhop_tools.construct.code import program
from toolhop_tools.construct.documents import document_findings
from toolhop_tools.construct.facts import Wanted, facts_findings
from toolhop_tools.construct.promises import (
    disagreements,
    misnamed,
    offered,
    other_shape,
    recased,
)
from toolhop_tools.construct.question import question_findings
from toolhop_tools.construct.replies import NewTool, Pairs, Records
from toolhop_tools.construct.stages import Findings
from toolhop_tools.construct.text import beside_the_value
from toolhop_tools.construct.verify import Verifier
from toolhop_tools.model import Tool, ToolSchema
from toolhop_tools.properties.lanes import Lane

TEXT = "Looks up the code of a port."


def schema(text: str = TEXT, port: object = "Name of the port.", **more: object) -> ToolSchema:
    own = port if isinstance(port, dict) else {"description": port}
    properties: dict[str, Any] = {"port": {"type": "string", **own}, **more}
    return ToolSchema("find_code", text, {"properties": properties, "required": ["port"]})


def option(text: str, **more: object) -> dict[str, object]:
    return {"type": "string", "enum": ["short", "long"], "default": "short", "description": text,
            **more}  # fmt: skip


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (schema(f"{TEXT} Set language to have another one."), "'language'"),
        (schema(f"{TEXT} Use the `limit` parameter."), "'limit'"),
        (schema(f"{TEXT} With limit=3 there are three."), "'limit'"),
        (schema(form=option("Form of it. Defaults to 'long'.")), "default"),
        (schema(size={"type": "integer", "description": "Size (default: 5).", "default": 3}), "3"),
        (schema(form=option("Form.", enum=["1", "2"], default="1")), "choice '1'"),
        (schema(form=option("Form.", enum=["mode_a", "mode_b"], default="mode_a")), "'mode_a'"),
        (schema(port="What to return.", form=option("Name of the port.")), "is of port"),
    ],
)
def test_a_document_that_disagrees_with_its_schema_is_found(made: ToolSchema, word: str) -> None:
    [found] = list(disagreements(made))[:1]
    assert word in found


@pytest.mark.parametrize(
    "made",
    [
        schema(f'{TEXT} Set form to "long" for more. find_code(port="A", form="long") -> 1',
               form=option("Form of it; the default is short.")),
        schema(form=option("Form. 1 is short, 2 is long.", enum=["1", "2"], default="1")),
        schema(form=option("Order of a date.", enum=["DD-MM", "MM-DD"], default="DD-MM")),
        schema(form=option("Unit.", enum=["m", "km"], default="m")),
        schema(size={"type": "integer", "description": "Size, 3 by default.", "default": 3}),
        schema(size={"type": "integer", "description": "Defaults to no limit.", "default": 0}),
    ],
)  # fmt: skip
def test_a_document_that_agrees_with_its_schema_passes(made: ToolSchema) -> None:
    assert [*disagreements(made)] == []


def test_a_name_is_of_what_the_document_says() -> None:
    assert [*misnamed(schema(), "What is the code of Orun?")] == []
    assert len([*misnamed(schema("Tunes a guitar."), "What colour has Orun?")]) == 1


def test_values_that_a_document_offers_are_found_to_be_tried() -> None:
    made = schema(port={"description": 'Name, such as "Old Orun" or so.', "examples": ["Velm"]})
    assert offered(made) == [("port", "Velm"), ("port", "Old Orun")]
    assert offered(schema(port="Code, e.g. FR.")) == [("port", "FR")]
    assert offered(schema(port="Name of a place such as a town.")) == []


def test_calls_in_other_cases_are_made_where_case_is_said_not_to_count() -> None:
    call = {"port": "Orun", "form": "short"}
    made = schema(port="Name, case-insensitive.", form=option("Form."))
    assert [one["port"] for one in recased(made, call)] == ["ORUN", "orun"]
    assert recased(schema(f"{TEXT} In any case."), call)[0] == {**call, "port": "ORUN"}
    assert recased(schema(), call) == []


@pytest.mark.parametrize(
    ("text", "result", "holds"),
    [
        ("Returns an object with a name.", "a", False),
        ("Returns an object with a name.", {"name": "a"}, True),
        ("For unknown names it returns null.", "a", False),
        ("The result is a sorted list.", ["a"], True),
        ("The result is a sorted list.", "a", False),
        ("For unknown names it returns an object with an error.", "a", True),
        ("Looks into a list of ports.", "a", True),
    ],
)
def test_a_kind_of_result_that_is_promised_comes(text: str, result: JSON, holds: bool) -> None:
    assert ([*other_shape(schema(text), [result])] == []) is holds


def table(name: str, answer: str, field: str = "code") -> Records:
    """Nine records; ``{}`` in key and answer is a letter, ``{n}`` a number."""
    rows = [{"port": name.format(one, n=n), field: answer.format(one, n=n)}
            for n, one in enumerate("ABCDEFGHI")]  # fmt: skip
    rows[3]["port"] = "Doria"
    return Records.model_validate(
        {"records": rows, "lookup": {"parameters": {"port": "port"}, "answer": field}}
    )


@pytest.mark.parametrize(
    ("facts", "check"),
    [
        (table("{}orun", "{}1"), ""),
        (table("{}orun", "{}orunia"), "not-guessed"),
        (table("Port {n}", "{}1"), "not-guessed"),
        (table("{}orun", "{}1", "page"), "named-as-asked"),
        (table("{}orun", "{n}00 (about)"), "bare-answer"),
    ],
)
def test_a_table_gives_nothing_away_and_names_what_it_holds(facts: Records, check: str) -> None:
    wanted = Wanted({"port": "Doria"}, said="What is the code of Doria? Looks up a port.")
    parameters: dict[str, Any] = {"properties": {"port": {"type": "string"}}, "required": ["port"]}
    assert facts_findings(facts, parameters, wanted).failed == ({check} if check else set())


@pytest.mark.parametrize(
    ("field", "value", "holds"),
    [
        ("opening_year", 1914, True), ("opening_year", 19140, False), ("opening_year", "?", True),
        ("ship_count", 3, True), ("ship_count", -3, False), ("ship_count", 2.5, False),
        ("opening_date", "1914-02-28", True), ("opening_date", "1914-02-30", False),
    ],
)  # fmt: skip
def test_a_value_can_be_what_its_field_is_called(
    field: str, value: str | int | float, holds: bool
) -> None:
    good, parameters = table("{}orun", "{n}00"), dict(schema().parameters)
    wanted = Wanted({"port": "Doria"}, said="What is the code of Doria? Looks up a port.")
    rows = [{**one, field: value} for one in good.records]
    found = facts_findings(good.model_copy(update={"records": rows}), parameters, wanted)
    assert found.failed == (set() if holds else {"plausible"})


def test_a_column_has_values_of_one_form() -> None:
    good, parameters = table("{}orun", "{n}00"), dict(schema().parameters)
    wanted = Wanted({"port": "Doria"}, said="What is the code of Doria? Looks up a port.")
    for values in ((7, "1914-03-02"), ("1914-03-02", "4 March 1915")):
        rows = [{**one, "day": values[at % 2]} for at, one in enumerate(good.records)]
        mixed = good.model_copy(update={"records": rows})
        assert facts_findings(mixed, parameters, wanted).failed == {"one-form"}
    rows = [{**one, "note": ("No. 5", "none")[at % 2]} for at, one in enumerate(good.records)]
    texts = good.model_copy(update={"records": rows})
    assert facts_findings(texts, parameters, wanted).ok


def test_a_seeds_own_answers_are_not_held_to_what_would_be_guessed() -> None:
    facts, parameters = table("{}orun", "{}orunia"), dict(schema().parameters)
    seeds = Wanted({"port": "Doria"}, answer="Dorunia")
    assert "not-guessed" in facts_findings(facts, parameters, seeds).held


@pytest.mark.parametrize(("most", "holds"), [(99, False), (1000, True)])
def test_pairs_come_near_the_limits_of_the_document(most: int, holds: bool) -> None:
    pairs = [{"arguments": {"n": one}, "result": one % 7} for one in (*range(8), most)]
    number = {"type": "integer", "minimum": 0, "maximum": 10_000}
    parameters: dict[str, Any] = {"properties": {"n": number}, "required": ["n"]}
    found = facts_findings(Pairs.model_validate({"pairs": pairs}), parameters, Wanted({"n": 1}))
    assert ("reaches-the-limits" in found.held) is holds


@pytest.mark.parametrize(
    ("answer", "bare"),
    [
        ("22", True), ("22 in total", False), ("1914-03-02 (Monday)", False), ("22 or 22.0", False),
        ("Orun / Orunia", False), ("Orun (port)", False), ("12 Angry Men", True),
        ("War or Peace", True), ("12 March 1874", True), ("2 / 3", False),
    ],
)  # fmt: skip
def test_an_answer_is_a_value_with_nothing_beside_it(answer: str, bare: bool) -> None:
    assert beside_the_value(answer) is not bare
    assert answer_findings(answer, "", None, "", "What?").ok is bare
    assert answer_findings(answer, "", None, answer, "What?").ok


def new_tool(name: str = "find_code", text: str = TEXT) -> NewTool:
    port = {"type": "string", "description": "Name of it."}
    parameters = {"type": "object", "properties": {"port": port}, "required": ["port"],
                  "additionalProperties": False}  # fmt: skip
    tool = {"name": name, "description": text, "parameters": parameters}
    return NewTool.model_validate(
        {"analysis": "", "kind": "lookup", "tool": tool, "arguments": {"port": "Port {1}"}}
    )


ASKED = "What is the code of Port 17?"
DATED = "What is the code of Port 17 in 1931?"


def test_each_number_that_a_question_says_is_used() -> None:
    new, check = new_tool(), "every-number-used"
    assert check in document_findings(new, DATED, ["17"], []).failed
    assert check in document_findings(new, DATED, ["17"], [], of_seed=True).held
    assert check in document_findings(new, ASKED, ["17"], []).held
    assert check in question_findings(DATED, (), ["Which code?"]).failed
    assert check in question_findings(DATED, ()).held


def test_a_new_tools_document_agrees_with_itself_and_has_a_fitting_name() -> None:
    assert document_findings(new_tool(), ASKED, ["17"], []).ok
    ghost = new_tool(text=f"{TEXT} Set key to A.")
    assert document_findings(ghost, ASKED, ["17"], []).failed == {"agrees-with-itself"}
    odd = new_tool("tune_guitar")
    assert document_findings(odd, ASKED, ["17"], []).failed == {"name-of-its-work"}


def test_a_word_that_another_hop_asks_with_does_not_speak_for_a_hop() -> None:
    plan = ("Where is Velm?", "What is the birth date of {1}?", "Which date is 3 days after {2}?")
    check = "words-of-each-hop"
    asked = "Which date is 3 days after the {} of where Velm is?"
    assert check in question_findings(asked.format("birth"), (), plan).held
    assert check in question_findings(asked.format("best"), (), plan).failed


CODE = """
def find_code(port, form="short"):
    for record in RECORDS:
        if record["port"]KNOWN:
            return record["code"]
    return {"error": f"port: {port} is not known; known are {RECORDS[0]['port']}"}
"""
EXACT, FOLDED = " == port", ".casefold() == port.casefold()"


async def promised(document: ToolSchema, known: str) -> Findings:
    facts = table("{}orun", "{}1")
    made = Tool(document, program(document, CODE.replace("KNOWN", known), facts))
    with inlined():
        opened = await open_sandbox("process", max_workers=1)
    async with opened as sandbox:
        # No property is checked here, and nothing certified.
        verifier = Verifier(sandbox, cast("Lane", None), BASIS)
        return await verifier.as_promised(made, facts)


@pytest.mark.parametrize(
    ("document", "known", "word"),
    [
        (schema(port="Name, such as Aorun."), EXACT, ""),
        (schema(port="Name, such as Utopia."), EXACT, "offers port='Utopia'"),
        (schema(port={"description": "Name.", "examples": ["Aorun", "X"]}), EXACT, "port='X'"),
        (schema(port="Name, case-insensitive."), EXACT, "Case is said not to count"),
        (schema(port="Name, in any case."), FOLDED, ""),
        (schema(f"{TEXT} The result is an object."), EXACT, "'object'"),
        (schema(f"{TEXT} It raises a ValueError."), EXACT, "ValueError"),
        (schema(f"{TEXT} It knows fifty-one names, of 8 ports."), EXACT, "8 ports"),
        (schema(form=option("Form.", enum=["short", "lowercase"])), EXACT, "'lowercase'"),
    ],
)
def test_calls_bear_out_what_a_document_says(document: ToolSchema, known: str, word: str) -> None:
    found = anyio.run(promised, document, known)
    assert found.ok is (word == "")
    assert all(word in one.message for one in found.problems)


KEYED = """
def find_code(port):
    for record in RECORDS:
        if KNOWN:
            return record["code"]
    known = ", ".join(record["port"] for record in LISTED)
    return {"error": f"port: {port} is not known; known are {known}MORE"}
"""


async def keyed(code: str) -> Findings:
    document = schema(f"{TEXT} A name that is not known gives an error that lists the known ones.")
    facts = table("{}orun", "{}1")
    made = Tool(document, program(document, code, facts))
    with inlined():
        opened = await open_sandbox("process", max_workers=1)
    async with opened as sandbox:
        return await Verifier(sandbox, cast("Lane", None), BASIS).facts_hold(made, facts)


@pytest.mark.parametrize(
    ("known", "listed", "more", "word"),
    [
        ('record["port"] == port', "RECORDS", "", ""),
        ("port in record.values()", "RECORDS", "", "no record has that key"),
        ('record["port"] == port', "RECORDS[:3]", ", ...", "list all that is known"),
        ('record["port"] == port', "RECORDS[:3]", " and others", "list all that is known"),
    ],
)
def test_keys_are_those_of_one_column_and_all_listed(
    known: str, listed: str, more: str, word: str
) -> None:
    code = KEYED.replace("KNOWN", known).replace("LISTED", listed).replace("MORE", more)
    found = anyio.run(keyed, code)
    assert found.failed == ({"unknown-key"} if word else set())
    assert all(word in one.message for one in found.problems)
