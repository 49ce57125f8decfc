"""Sub-questions beside documents as fluent models write them: right pairs pass, wrong ones do not.

Domains and words are other ones than those of the scripted constructors.
"""

from __future__ import annotations

import pytest

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.documents import document_findings
from toolhop_tools.construct.question import question_findings
from toolhop_tools.construct.replies import NewTool
from toolhop_tools.construct.stages import Findings

NUMBERS: dict[str, JSON] = {"a": 12, "b": 5}


def found(question: str, name: str, text: str, given: dict[str, JSON] | str) -> Findings:
    """What the tool stage finds: `given` is the key of a lookup, or a calculation's arguments."""
    arguments: dict[str, JSON] = {given: "{1}"} if isinstance(given, str) else given
    properties: dict[str, JSON] = {
        key: {"type": "string" if isinstance(value, str) else "integer",
              "description": f"The {key}."}
        for key, value in arguments.items()
    }  # fmt: skip
    reply = NewTool.model_validate({
        "analysis": "", "kind": "lookup" if isinstance(given, str) else "compute",
        "tool": {"name": name, "description": text, "parameters": {
            "type": "object", "properties": properties, "required": [*properties],
            "additionalProperties": False}},
        "arguments": arguments,
    })  # fmt: skip
    return document_findings(reply, question.replace("{1}", "Velmora"), ["Velmora"], [])


RIGHT: list[tuple[str, str, str, dict[str, JSON] | str]] = [
    ("What is the largest city of {1}?", "biggest_town", "Returns the biggest town of a region.",
     "region"),
    ("Which moon is innermost around {1}?", "closest_moon", "Returns a planet's closest moon.",
     "planet"),
    ("Which guest arrived at the northwest gate of {1}?", "gate_guest",
     "Returns the guest who arrived at a castle's gate.", "castle"),
    ("Which manifest lists the cargo of {1}?", "cargo_list", "Returns the list of a ship's cargo.",
     "ship"),
    ("In which round did {1} leave the tournament?", "exit_stage",
     "Returns the stage at which a team left the tournament.", "team"),
    ("Which power station supplies {1}?", "supplier", "Returns the station that supplies a town.",
     "town"),
    ("What is the main product of {1}?", "goods_made", "Returns the goods that a factory produces.",
     "factory"),
    ("What is the first name of the owner of {1}?", "owner_forename",
     "Returns the forename of a shop's owner.", "shop"),
    ("How heavy is {1}, in kilograms?", "weight_kg", "Returns the weight of a bell (kg).", "bell"),
    ("What is the temperature of {1} in degrees Celsius?", "spring_heat",
     "Returns the temperature of a spring (°C).", "spring"),
    ("What does {1} cost in euros?", "ticket_price", "Returns the price of a ticket in €.",
     "ticket"),
    ("Which country is a neighbour of {1} in the east?", "eastern_border",
     "Returns the country on the eastern border of a country.", "country"),
    ("Which king succeeded {1}?", "next_king", "Returns the next king after a reign.", "king"),
    ("What is {1} most famous for?", "known_for", "Returns what a spa is famous for.", "spa"),
    ("Where do most of the visitors of {1} come from?", "visitor_origin",
     "Returns where visitors of a museum come from.", "museum"),
    ("Which ship is {1} named after?", "ship_of_name", "Returns the ship behind a street's name.",
     "street"),
    ("How many hours after sunset does {1} open?", "opening_hour",
     "Returns how late a club opens, in hours.", "club"),
    ("What is 12 minus 5?", "difference", "Subtracts the second of two numbers.", NUMBERS),
    ("What is 12 times 5?", "multiply", "Gives the product of two whole numbers.", NUMBERS),
    ("What is 12 divided by 5, rounded down?", "floor_divide",
     "Divides one number by another and discards the fraction.", NUMBERS),
    ("What remains of 12 after dividing by 5?", "modulo", "Gives the remainder of a division.",
     NUMBERS),
    ("What is the square of 12?", "power", "Raises a base to an exponent.", {"a": 12, "b": 2}),
    ("What is the least common multiple of 12 and 5?", "lcm",
     "Finds the least common multiple of two numbers.", NUMBERS),
    ("What is the sum of 12 and 5?", "add_up", "Adds two numbers.", NUMBERS),
]  # fmt: skip


@pytest.mark.parametrize("pair", RIGHT, ids=[one[0] for one in RIGHT])
def test_a_right_pair_passes(pair: tuple[str, str, str, dict[str, JSON] | str]) -> None:
    assert [one.message for one in found(*pair).problems] == []


MAYOR = "Returns the mayor of a town."
WRONG: list[tuple[str, str, str, dict[str, JSON] | str, str]] = [
    ("Who was the previous mayor of {1}?", "mayor", MAYOR, "town", "previous"),
    ("Who was the first mayor of {1}?", "mayor", MAYOR, "town", "first"),
    ("Who was the youngest mayor of {1}?", "mayor", MAYOR, "town", "youngest"),
    ("Who is the mayor of the town nearest to {1}?", "mayor", MAYOR, "town", "nearest"),
    ("Who is the mayor of the capital of {1}?", "mayor", MAYOR, "country", "capital"),
    ("Who is the wife of the mayor of {1}?", "mayor", MAYOR, "town", "wife"),
    ("Who was mayor of {1} before Otto Lund?", "mayor", MAYOR, "town", "before"),
    ("Which mayor of {1} was not elected?", "mayor", MAYOR, "town", "not"),
    ("What is the sum of the digits of the population of {1}?", "population",
     "Returns the population of a town.", "town", "sum"),
    ("What is the average rainfall of {1}?", "rainfall", "Returns the rainfall of a town.", "town",
     "average"),
    ("What is the smallest depth of {1}?", "depth", "Returns the greatest depth of a lake.",
     "lake", "smallest"),
    ("How deep is {1}, in feet?", "depth", "Returns the depth of a lake in metres.", "lake",
     "in feet"),
    ("What colour has {1}?", "tune_strings", "Tunes a guitar.", "guitar", "share no word"),
    ("What is the product of 12 and 5?", "add", "Adds two numbers.", NUMBERS, "product"),
    ("What is the sum of 12 and 5, rounded to the nearest ten?", "add", "Adds two numbers.",
     NUMBERS, "rounded"),
    ("What is the sum of 12 and 5, the vowels being left aside?", "add", "Adds two numbers.",
     NUMBERS, "vowels"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "name", "text", "given", "word"), WRONG, ids=[one[0] for one in WRONG]
)
def test_a_wrong_pair_is_refused_and_its_word_named(
    question: str, name: str, text: str, given: dict[str, JSON] | str, word: str
) -> None:
    said = " ".join(one.message for one in found(question, name, text, given).problems)
    assert word in said


@pytest.mark.parametrize(
    ("question", "plan", "holds"),
    [
        ("How much taller is the tower that Ada built than the one that Bo built?",
         ("How high is the tower {1}?", "What is {1} minus {2}?"), True),
        ("Written in binary, what is the house number of Bo?",
         ("At which house number does Bo live?", "What is {1} in binary notation?"), True),
        ("Which bridge is the shortest of those in Orun?",
         ("Which bridge of Orun has the least length?",), True),
        ("Which bridge is the longest of those in Orun?",
         ("Which bridge of Orun has the least length?",), False),
        ("What is the colour of the bridge in Orun?",
         ("Which bridge stands in Orun?", "What is the weight of {1}?"), False),
        ("Which bridge is the slowest to cross in Orun?",
         ("Which bridge of Orun takes the longest to cross?",), True),
    ],
)  # fmt: skip
def test_a_question_may_say_what_its_hops_ask_in_other_forms(
    question: str, plan: tuple[str, ...], holds: bool
) -> None:
    failed = question_findings(question, (), plan).failed
    assert not failed & {"words-of-each-hop", "same-operations"} if holds else failed


@pytest.mark.parametrize(
    ("choices", "passes"), [(["atomic_number", "mass"], True), (["mass"], False)]
)
def test_what_is_asked_may_be_a_choice_of_the_schema(choices: list[JSON], passes: bool) -> None:
    reply = NewTool.model_validate({
        "analysis": "", "kind": "lookup",
        "tool": {"name": "element_facts", "description": "Returns a fact of an element.",
                 "parameters": {"type": "object", "additionalProperties": False,
                                "required": ["element", "fact"], "properties": {
                     "element": {"type": "string", "description": "Which element."},
                     "fact": {"type": "string", "enum": choices, "description": "Which fact."}}}},
        "arguments": {"element": "Velmorium", "fact": choices[0]},
    })  # fmt: skip
    findings = document_findings(reply, "What is the atomic number of Velmorium?", [], [])
    refused = {"says-what-is-asked", "every-word-known"}
    assert findings.failed == (set() if passes else refused)
