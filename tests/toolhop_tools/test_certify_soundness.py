"""What must not be proven, what must be, and what may be called defective: one hop each.

Each hop is a kind that data sets of sub-questions have: look-ups of persons, dates, counts of
letters, arithmetic, lists. The tools are right but for what a case's name says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from sandbox.outcome import JSON
from tests.toolhop_tools.certifying import NUMBER, TEXT, certificates, item, made, proof
from toolhop_tools.certify.model import Defect, HopProof, Verdict
from toolhop_tools.model import Hop

PERSON: dict[str, JSON] = {
    "person": TEXT,
    "relation": {"type": "string", "enum": ["father", "mother"]},
}
COUNT = """
def f(text, kinds=None, skip="", output="number"):
    letters = [one for one in text.lower() if one.isalpha() and one not in skip]
    vowels = sum(one in "aeiou" for one in letters)
    if output == "detailed":
        return {"total": len(letters), "vowels": vowels, "consonants": len(letters) - vowels}
    if kinds:
        return {"vowels": vowels, "consonants": len(letters) - vowels}[kinds[0]]
    return len(letters)
"""
KINDS: dict[str, JSON] = {"type": "string", "enum": ["vowels", "consonants"]}
COUNTED: dict[str, JSON] = {
    "text": TEXT,
    "kinds": {"type": "array", "items": KINDS},
    "skip": TEXT,
    "output": {"type": "string", "enum": ["number", "detailed"]},
}
PARENTS = """
def f(person, relation="father"):
    found = {"Orla Venn": {"father": "Tobias Venn", "mother": "Ida Marsh"}}.get(person)
    return {"name": found[relation]} if found else {"error": "not known"}
"""


@dataclass(frozen=True, slots=True)
class Case:
    source: str
    question: str
    gold: str
    properties: dict[str, Any] | None = None
    required: tuple[str, ...] | None = None

    @property
    def hop(self) -> Hop:
        return made(self.source, self.question, self.gold, self.properties, required=self.required)


def counting(question: str, gold: str, example: str = "") -> Case:
    return Case(COUNT + example, question, gold, COUNTED, ("text",))


SO_MANY = "How many letters are there in Kiernan?"
WHO_WROTE = "Who wrote The Silver Heron?"
FALSE = {
    "arguments are ignored": Case("def f(text):\n    return 'Ada Lund'", WHO_WROTE, "Ada Lund"),
    "any arguments are ignored": Case("def f(**any):\n    return 7", SO_MANY, "7"),
    "ignored in an example": Case("def f(text):\n    return 7\nf('Kiernan')", SO_MANY, "7"),
    "an argument comes back": Case("def f(text):\n    return {'text': text}", WHO_WROTE, "Heron"),
    "in a sentence": Case("def f(text):\n    return f'It is {text}.'", WHO_WROTE, "Silver Heron"),
    "in capitals": Case("def f(text):\n    return text.upper()", WHO_WROTE, "HERON"),
    "a part of the number": Case("def f(text):\n    return 'It has 15.'", SO_MANY, "5"),
    "a digit of the number": Case("def f(text):\n    return 17", SO_MANY, "7"),
    "half of the name": Case("def f(text):\n    return 'Ada Lund'", WHO_WROTE, "Ada"),
    "one of many numbers": Case("def f(text):\n    return list(range(len(text)))", SO_MANY, "3"),
    "other letters by an option": counting(SO_MANY, "4"),
    "other letters beside the example": counting(SO_MANY, "4", "f('Kiernan')"),
    "a count of the detailed result": counting(SO_MANY, "3", "f('Kiernan')"),
    "letters of a longer text": counting(SO_MANY, "16"),
    "letters left out": counting(SO_MANY, "0"),
    "another relation": Case(PARENTS, "Who is the father of Orla Venn?", "Ida Marsh", PERSON),
    "another relation than the example's": Case(
        PARENTS + "f('Orla Venn', 'father')",
        "Who is the father of Orla Venn?",
        "Ida Marsh",
        PERSON,
    ),
    "another operation": Case(
        "def f(a, b, how):\n    return {'add': a + b, 'multiply': a * b}[how]",
        "What is the result of multiplying 6 by 4?",
        "10",
        {"a": NUMBER, "b": NUMBER, "how": {"type": "string", "enum": ["add", "multiply"]}},
    ),
}


@pytest.mark.parametrize("name", FALSE)
def test_is_not_proven(name: str) -> None:
    one = proof(FALSE[name].hop)
    assert one.verdict is not Verdict.PROVEN, (one.arguments, one.result)


BORN = """
import datetime
def f(name):
    day = {"Halden Pryce": datetime.date(1931, 3, 9)}.get(name)
    return {"born": day.strftime("%d %B %Y")} if day else "Unknown person."
"""
FIRST = "def f(name):\n    first = name.split()[0]\n"
NAME: dict[str, JSON] = {"name": TEXT}
FIRST_NAME = "What is the first name of Orla Venn?"
TRUE = {
    "a date in another notation": Case(BORN, "When was Halden Pryce born?", "March 9, 1931", NAME),
    "the year of a date": Case(BORN, "In what year was Halden Pryce born?", "1931", NAME),
    "a part of the argument, in a sentence": Case(
        FIRST + "    return f'The first name of {name} is {first}.'", FIRST_NAME, "Orla", NAME
    ),
    "in JSON text": Case(
        "import json\n" + FIRST + "    return json.dumps({'first': first})",
        FIRST_NAME,
        "Orla",
        NAME,
    ),
    "in nested lists": Case(
        FIRST + "    return {'data': [{'parts': [first]}]}", FIRST_NAME, "Orla", NAME
    ),
    "a number as text": Case("def f(text):\n    return str(len(text))", SO_MANY, "7"),
    "a parameter that may be null": Case(
        "def f(text, how=None):\n    return len(text)",
        SO_MANY,
        "7",
        {"text": {"type": ["string", "null"]}, "how": {"type": ["string", "null"]}},
        ("text",),
    ),
    "an option that the question names": counting("How many vowels has Kiernan?", "3"),
    "an option that only the code names": Case(
        "def f(text, ends=()):\n"
        "    start = 1 if 'first' in ends else 0\n"
        "    return len(text[start:]) - (1 if 'last' in ends else 0)\nf('Kiernan')",
        "How many letters, the first and the last aside, are there in Kiernan?",
        "5",
        {"text": TEXT, "ends": {"type": "array", "items": TEXT}},
        ("text",),
    ),
    "a relation that the question names": Case(
        PARENTS, "Who is the mother of Orla Venn?", "Ida Marsh", PERSON, ("person",)
    ),
    "an operation in another form": Case(
        "def f(a, b, how):\n    return {'add': a + b, 'multiply': a * b}[how]",
        "What is the result of multiplying 6 by 4?",
        "24",
        {"a": NUMBER, "b": NUMBER, "how": {"type": "string", "enum": ["add", "multiply"]}},
    ),
    "one of two to choose from": Case(
        "def f(a, b):\n    return max(a, b, key=len)",
        "Which name is longer, Orla or Bernadette?",
        "Bernadette",
        {"a": TEXT, "b": TEXT},
    ),
    "a list that the question gives": Case(
        "def f(words):\n    return sorted(words)",
        "Sort Oslo, Bern and Lima by the alphabet.",
        "['Bern', 'Lima', 'Oslo']",
        {"words": {"type": "array", "items": TEXT}},
    ),
    "a letter's place": Case(
        "def f(letter):\n    return ord(letter.lower()) - 96",
        "What is the place of the letter 'q' in the alphabet?",
        "17",
        {"letter": TEXT},
    ),
    "a tool without parameters": Case(
        "def f():\n    return 'Ida Marsh'", "who has reigned the longest", "Ida Marsh", {}
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_is_proven(name: str) -> None:
    one = proof(TRUE[name].hop)
    assert one.verdict is Verdict.PROVEN, (one.why, one.evidence)


def _shows(one: HopProof, arguments: dict[str, JSON]) -> bool:
    return bool(one.evidence) and one.evidence[0].arguments == arguments


def test_a_wrong_gold_is_defective_though_another_text_has_as_many_letters() -> None:
    one = proof(counting("How many letters are there in Quentin?", "8").hop)
    assert one.defect is Defect.OTHER_VALUE
    assert _shows(one, {"text": "Quentin"})


def test_a_gold_that_is_a_part_of_the_question_does_not_repeat_it() -> None:
    one = proof(Case(FIRST + "    return 'Tobias'", FIRST_NAME, "Orla", NAME).hop)
    assert one.defect is Defect.OTHER_VALUE


def test_a_filter_that_passes_what_it_finds_does_not_have_to_be_told() -> None:
    source = """
def f(title="", author=""):
    novels = [("Red Sea", "Ann Lee")]
    found = [one for one in novels if title in ("", one[0]) and author in ("", one[1])]
    return [one[0] for one in found] if title or author else []
"""
    fields: dict[str, JSON] = {"title": TEXT, "author": TEXT}
    one = proof(Case(source, "Which novel did Marvel adapt?", "Red Sea", fields, ()).hop)
    assert (one.verdict, one.defect) == (Verdict.UNPROVEN, None)


def test_the_answer_is_supplied_once_in_the_evidence() -> None:
    source = """
def f(a, b, source):
    return f"{a} is linked with {b}." if (a, b) == ("Fern Lane", "Holt Park") or (
        a == "Fern Lane" and b == "Holt Park") else "No link found."
"""
    fields: dict[str, JSON] = {"source": TEXT, "a": TEXT, "b": TEXT}
    one = proof(Case(source, "Which park is Fern Lane linked with?", "Holt Park", fields).hop)
    assert one.defect is Defect.NEEDS_ANSWER
    assert list(one.evidence[0].arguments.values()).count("Holt Park") == 1


def test_parameters_that_only_the_call_shows_to_be_needed_are_no_defect() -> None:
    source = """
def g(text, one, two, three, four):
    return 7
def f(**given):
    return g(**given)
"""
    fields: dict[str, JSON] = dict.fromkeys(("text", "one", "two", "three", "four"), TEXT)
    one = proof(Case(source, SO_MANY, "8", fields, ("text",)).hop)
    assert one.verdict is Verdict.UNPROVEN


def test_what_is_doubtful_is_told_with_the_call() -> None:
    source = "def f(text, spaces=True):\n    return len(text if spaces else text.replace(' ', ''))"
    fields: dict[str, JSON] = {"text": TEXT, "spaces": {"type": "boolean"}}
    case = Case(source, "How long is Orla Venn?", "8", fields, ("text",))
    one = proof(case.hop)
    assert one.verdict is Verdict.UNPROVEN
    assert "spaces" in one.why
    assert _shows(one, {"text": "Orla Venn", "spaces": False})


@pytest.mark.parametrize("wrong", ["other", "near"])
def test_no_wrong_gold_of_a_chain_is_proven(wrong: str) -> None:
    last = counting(SO_MANY, "7").hop
    gold = {"other": "12", "near": "8"}[wrong]
    for source in (COUNT, COUNT + "f('Kiernan')"):
        hop = made(source, SO_MANY, gold, COUNTED, required=("text",))
        first = made(BORN, "Who is it?", "Kiernan", NAME)
        [certificate] = certificates(item(first, hop, question=last.question))
        assert certificate.hops[1].verdict is Verdict.DEFECTIVE
