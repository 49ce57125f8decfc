"""Replies of careless and hostile models: what the checks that need no sandbox find in them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.calls import answer_findings
from toolhop_tools.construct.code import code_findings
from toolhop_tools.construct.documents import given_away
from toolhop_tools.construct.facts import Wanted, facts_findings, moved
from toolhop_tools.construct.giveaway import gives_away, in_roman, in_words
from toolhop_tools.construct.nested.code import Wanted as Form
from toolhop_tools.construct.nested.code import chain_findings
from toolhop_tools.construct.question import question_findings
from toolhop_tools.construct.replies import (
    FinalQuestion,
    GoldArguments,
    Pair,
    Pairs,
    Records,
)
from toolhop_tools.construct.seeds import forbids
from toolhop_tools.construct.stages import Problem
from toolhop_tools.construct.text import odd_sign
from toolhop_tools.model import ToolSchema


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("that of 1,926 people", "1926"),
        ("one thousand nine hundred and twenty-six", "1926"),
        ("in nineteen twenty-six", "1926"),
        ("the twenty-first of them", "21"),
        ("the 880th of them", "880"),
        ("chapter XVI of it", "16"),
        ("on September 21, 1874", "1874-09-21"),
        ("the land of Jas-darion", "Jasdarion"),
        ("the land of J a s d a r i o n", "Jasdarion"),
        ("the land of Jas&#100;arion", "Jasdarion"),
    ],
)
def test_a_value_is_found_in_other_forms(text: str, value: str) -> None:
    assert gives_away(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no one else", "1"),
        ("the Garlurions", "Garlurion"),
        ("mix it well", "1009"),
        ("nineteen people", "1926"),
        ("in 1874", "1874-09-21"),
        ("a new ton", "Newt"),
    ],
)
def test_what_only_looks_like_a_value_gives_nothing_away(text: str, value: str) -> None:
    assert not gives_away(text, value)


def test_numbers_are_written_in_words_and_in_roman_numerals() -> None:
    assert " ".join(in_words(40_013)) == "forty thousand thirteen"
    assert [in_roman(one) for one in (4, 1990, 3999)] == ["IV", "MCMXC", "MMMCMXCIX"]


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("a\u200bb", "U+200B"),
        ("a\x00b", "U+0000"),
        ("\u202ereversed", "U+202E"),
        ("Velm\u0430ra", "two scripts"),
        ("\U0001d410uen", "plain 'Q'"),
        ("caf\u00e9 k\u03a9 km\u00b2 1\u00ba \u6771\u4eac \u0410\u043d\u043d\u0430", ""),
        ("two\nlines\tand tabs", ""),
    ],
)
def test_signs_that_nobody_sees_or_tells_apart_are_found(text: str, odd: str) -> None:
    assert odd_sign(text) == "" if not odd else odd in odd_sign(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"question": "What?", "question": "Who?"}',
        '{"question": "' + "x" * 300_000 + '"}',
        '{"question": "Wh\u200bat is it?"}',
        '{"question": NaN}',
        "[" * 100_000,
    ],
    ids=["key-twice", "huge", "unseen", "nan", "deep"],
)
def test_json_that_is_read_in_two_ways_is_not_read(text: str) -> None:
    assert isinstance(FinalQuestion.read(text), Problem)


def test_a_key_stands_once_at_every_depth_and_no_value_is_nan() -> None:
    assert isinstance(GoldArguments.read('{"arguments": {"a": 1, "a": 2}}'), Problem)
    for number in ("NaN", "1e999", "-1e999"):
        found = GoldArguments.read(f'{{"arguments": {{"a": [{number}]}}}}')
        assert isinstance(found, Problem)
        assert number in found.message
    assert not isinstance(GoldArguments.read('{"arguments": {"a": 1e300}}'), Problem)
    assert isinstance(GoldArguments.read('{"arguments": {"a": 1}}'), GoldArguments)


PLAN = ("Where is Velm?", "What is the calling code of {1}?")


@pytest.mark.parametrize(
    ("question", "check"),
    [
        ("What is the calling code of where Velm is? And its area?", "a-question"),
        ("Is there a calling code of where Velm is?", "a-question"),
        ("```\nx\n``` What is the calling code of where Velm is?", "a-question"),
        ("What is the calling code of where Velm is? " + "x" * 2000, "a-question"),
        ("What is the mean height of where Velm is?", "words-of-each-hop"),
    ],
)
def test_a_question_asks_one_thing_in_plain_words(question: str, check: str) -> None:
    assert question_findings("What is the calling code of where Velm is?", (), PLAN).ok
    assert check in question_findings(question, (), PLAN).failed


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ({"properties": {"a": {"examples": ["Tarsenia"]}}}, True),
        ({"properties": {"a": {"$comment": "Tarsenia is 871"}}}, True),
        ({"properties": {"a": {"pattern": "^(Tarsenia|X)$"}}}, True),
        ({"properties": {"tarsenia": {"type": "string"}}}, True),
        ({"properties": {"a": {"enum": ["Tarsenia", "B"]}}}, True),
        ({"properties": {"a": {"enum": ["Tarsenia", *"BCDEFGH"]}}}, False),
        ({"properties": {"a": {"type": "string"}}, "required": ["tarsenia"]}, False),
    ],
)
def test_a_document_says_no_answer_of_any_hop(parameters: dict[str, object], found: bool) -> None:
    document = ToolSchema("look_up", "Looks up.", json.loads(json.dumps(parameters)))
    assert bool([*given_away(document, "Tarsenia", of_keys=True)]) is found


def test_a_number_that_is_a_default_is_said_and_a_bound_is_not() -> None:
    default = ToolSchema("look_up", "Looks up.", {"properties": {"a": {"default": 871}}})
    bound = ToolSchema("look_up", "Looks up.", {"properties": {"a": {"maximum": 871}}})
    assert [*given_away(default, "871")]
    assert not [*given_away(bound, "871")]


SCHEMA = ToolSchema("look_up", "Looks up.", {"properties": {"a": {}}, "required": ["a"]})
NO_STATE = """TABLE = {"x": 1}

def look_up(a):
    own = [1]
    own.append(TABLE["x"])
    return a
"""


@pytest.mark.parametrize(
    "code",
    [
        "def look_up(a, seen=[]):\n    return a",
        "def look_up(a):\n    return helper(a)\n\ndef helper(a, box={}):\n    return a",
        "SEEN = {}\n\ndef look_up(a):\n    SEEN[a] = 1\n    return a",
        "SEEN = {'x': []}\n\ndef look_up(a):\n    SEEN['x'].append(a)\n    return a",
        "def look_up(a):\n    look_up.count = 1\n    return a",
        "def look_up(a):\n    RECORDS.sort()\n    return a",
    ],
)
def test_code_that_leaves_something_for_the_next_call_is_found(code: str) -> None:
    facts = Pairs(pairs=[])
    assert "no-state" not in code_findings(NO_STATE, SCHEMA, facts, None).failed
    assert "no-state" in code_findings(code, SCHEMA, facts, None).failed


def records(*values: str | float) -> Records:
    rows: list[dict[str, str | int | float | bool]] = [
        {"a": f"key {at}", "answer": value} for at, value in enumerate(values)
    ]
    lookup = {"parameters": {"a": "a"}, "fixed": {}, "answer": "answer"}
    return Records.model_validate({"records": rows, "lookup": lookup})


@pytest.mark.parametrize("odd", ["", " 7", "7 ", 2**53 + 1])
def test_a_table_has_no_value_that_readers_change(odd: str | int) -> None:
    parameters: dict[str, JSON] = {"properties": {"a": {"type": "string"}}}
    wanted = Wanted({"a": "key 1"})
    assert "values" not in facts_findings(records(*range(9)), parameters, wanted).failed
    assert "values" in facts_findings(records(*range(8), odd), parameters, wanted).failed


def test_a_moved_table_keeps_its_keys_and_says_other_things_of_them() -> None:
    found = moved(records("x", "y", "z"))
    assert [one["a"] for one in found.records] == ["key 0", "key 1", "key 2"]
    assert [one["answer"] for one in found.records] == ["y", "z", "x"]


def test_pairs_have_to_say_what_the_call_itself_gives() -> None:
    parameters: dict[str, JSON] = {"properties": {"a": {"type": "integer"}}}
    pairs = Pairs(pairs=[Pair(arguments={"a": n}, result=n * n) for n in range(8)])
    assert facts_findings(pairs, parameters, Wanted({"a": 3})).ok
    assert facts_findings(pairs, parameters, Wanted({"a": 9})).failed == {"gold"}


@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        ("The sum of the digits of 880 is 16.", False),
        ("the sum of the digits of 880 is 16", False),
        ("9" * 200, False),
        ("2191.2000000000003", False),
        ("N/A", False),
        ("no name found for 880", False),
        ("16", True),
        ("3.14159", True),
        ("1874-09-21", True),
        ("The Hunger Games: Mockingjay Part Two", True),
    ],
)
def test_an_answer_is_one_that_people_give(answer: str, holds: bool) -> None:
    question = "What is the sum of the digits of 880?"
    assert answer_findings(answer, answer, None, "", question).ok is holds


@pytest.mark.parametrize(
    "licence", ["CC BY-ND 4.0", "cc by\u2011nc\u2011nd", "NoDerivs", "\u00a9 X"]
)
def test_a_licence_that_forbids_changed_copies_is_known_in_any_spelling(licence: str) -> None:
    assert forbids(licence)


@pytest.mark.parametrize("licence", ["CC BY-SA 4.0", "MIT", "CC0", "Unlicense", "own", "ODbL"])
def test_a_licence_that_allows_it_passes(licence: str) -> None:
    assert not forbids(licence)


NEST = '''def find(port: str, seats: int = 1, opts: dict = None, ratio: float = 0.0):
    """Find the next ferry.

    required parameters:
    port (str): the port

    optional parameters:
    seats (int): how many
    opts (dict): options
    ratio (float): ratio

    Returns:
    ferry (str): the name
    """
    ...


def main():
    data0 = find(%s)
    # Find the next ferry that leaves from Dover, please.
'''
DEEP = "1" + "+1" * 400


@pytest.mark.parametrize(
    "given",
    [
        DEEP,
        "a" + ".b" * 600,
        "'Dover', 0x" + "f" * 6000,
        "'Dover', -0x" + "f" * 6000,
        "'Dover', ratio=-1e999",
        "'Dover', -True",
        "'Dover', opts={'$taken': [5, 'x']}",
        "'Dover', opts={'$taken': [0, 'ferry']}",
        "'Dover', opts={'a': 1, 'a': 2}",
        "'Dover', opts={'API_call_0': 1}",
        "'\\ud800'",
        "'a\\x00b'",
        "'" + "x" * 200_000 + "'",
    ],
    ids=lambda text: text[:24],
)
def test_code_that_no_row_can_hold_is_found_and_breaks_nothing(given: str) -> None:
    assert chain_findings(NEST % "'Dover'", Form())[1] is not None
    found, nest = chain_findings(NEST % given, Form())
    assert found.problems
    assert nest is None


def changes() -> Sequence[tuple[str, str]]:
    return (
        ("port: str", f"port: {DEEP}"),
        ("seats: int = 1", f"seats: int = {DEEP}"),
        ("port (str)", "port (string)"),
        ("def main():", f"def main(a={DEEP}):"),
        ("    ...", f"    x = {DEEP}"),
    )


@pytest.mark.parametrize(("old", "new"), changes(), ids=lambda text: text[:24])
def test_stubs_that_cannot_be_read_are_found_and_break_nothing(old: str, new: str) -> None:
    found, nest = chain_findings((NEST % "'Dover'").replace(old, new, 1), Form())
    assert found.problems
    assert nest is None
