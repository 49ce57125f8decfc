"""What must not be proven, what must be, and what may be called defective: one hop each.

Each hop is a kind that data sets of sub-questions have: look-ups of persons, dates, counts of
letters, arithmetic, lists. The tools are right but for what a case's name says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.toolhop_tools.certifying import NUMBER, TEXT, certificates, item, made, proof
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.model import Defect, HopProof, HopVerdict
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
NAME: dict[str, JSON] = {"name": TEXT}
FIELDS = """
def f(name, field):
    known = {"Mount Karst": {"height": 2871, "founding_year": 1902}}.get(name)
    return known and known[field]
"""
FIELD: dict[str, JSON] = {
    "name": TEXT,
    "field": {"type": "string", "enum": ["height", "founding_year"]},
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
    "another field than is asked": Case(
        FIELDS, "When was Mount Karst founded?", "2871", FIELD, ("name", "field")
    ),
    "another field beside the one asked": Case(
        "def f(name):\n    return {'depth': '78 m', 'opened': '2 May 1962'}"
        " if name == 'Orla Lake' else None",
        "What is the depth of Orla Lake?",
        "1962",
        NAME,
    ),
    "another question than the example's": Case(
        "def f(name, about):\n    return {'founder': 'Ada Lund', 'place': 'Wells'}[about]"
        " if name == 'Venn & Sons' else None\nf('Venn & Sons', 'founder')",
        "Who was the founder of Venn & Sons?",
        "Wells",
        {"name": TEXT, "about": {"type": "string", "description": "'founder' or 'place'."}},
    ),
    "another base than is named": Case(
        "def f(text, base):\n    return {2: bin, 8: oct}[base](int(text))[2:]",
        "What is 1036 in octal?",
        "10000001100",
        {"text": TEXT, "base": NUMBER},
    ),
    "another switch than is asked for": Case(
        "def f(name, request):\n    known = {'brightest': 'Alkesh', 'family': 'Herald'}\n"
        "    return {key: known[key] for key in request if request[key] and name == 'Corvida'}",
        "What is the brightest star of Corvida?",
        "Herald",
        {
            "name": TEXT,
            "request": {
                "type": "object",
                "properties": {"brightest": {"type": "boolean"}, "family": {"type": "boolean"}},
            },
        },
    ),
    "the later for the earlier": Case(
        "def f(years, which):\n    return sorted(years)[0 if which == 'earliest' else -1]",
        "Which is earlier, 1832 or 1850?",
        "1850",
        {
            "years": {"type": "array", "items": NUMBER, "minItems": 2},
            "which": {"type": "string", "enum": ["earliest", "latest"]},
        },
    ),
    "a great number by an option": Case(
        "def f(a, b, inclusive=False):\n    return b - a + inclusive",
        "What is the difference between 1500 and 4300?",
        "2801",
        {"a": NUMBER, "b": NUMBER, "inclusive": {"type": "boolean"}},
        ("a", "b"),
    ),
    "the number of another year": Case(
        "def f(town, year=2011):\n    return {2001: 11873, 2011: 12650}[year] if town == 'Wells'"
        " else None",
        "What was the population of Wells in 2001?",
        "12650",
        {"town": TEXT, "year": NUMBER},
        ("town",),
    ),
    "a great number of a list": Case(
        "def f(town):\n    return [10422, 11873] if town == 'Wells' else None",
        "What was the population of Wells?",
        "11873",
        {"town": TEXT},
    ),
    "another number than the question's": Case(
        "def f(text, times):\n    return text * times",
        "What is 'nds' repeated 2 times?",
        "ndsndsnds",
        {"text": TEXT, "times": NUMBER},
    ),
    "a choice that the question names is left out": Case(
        "import math\ndef f(number, way='off'):\n"
        "    return math.ceil(number) if way == 'up' else math.floor(number)",
        "What is 3116.4 rounded up?",
        "3116",
        {"number": {"type": "number"}, "way": {"type": "string", "enum": ["up", "off"]}},
        ("number",),
    ),
    "a name by an option that is not asked for": Case(
        "def f(school, translate=False):\n"
        "    found = {'Wells College': ('Lux in undis', 'Light in waves')}.get(school)\n"
        "    return found and found[translate]",
        "What is the motto of Wells College?",
        "Light in waves",
        {"school": TEXT, "translate": {"type": "boolean"}},
        ("school",),
    ),
    "a part of the result beside the field that is asked for": Case(
        "def f(name):\n    return {'surname': name.split()[-1], 'parts': name.split()}",
        "What is the surname of Gil Vasco?",
        "Gil",
        NAME,
    ),
    "the name is given where it is not looked at": Case(
        "def f(person, house=''):\n    return {'Otto of Falk': 'Engel of Falk'}.get(person)",
        "Who is the father of Ida Marsh?",
        "Engel of Falk",
        {"person": TEXT, "house": TEXT},
        ("person",),
    ),
    "a constant beside the arguments": Case(
        "def f(person, relation):\n"
        "    return {'person': person, 'relation': relation, 'result': 'Ida Marsh'}",
        "Who is the mother of Orla Venn?",
        "Ida Marsh",
        PERSON,
    ),
    "a tool without parameters": Case(
        "def f():\n    return 'Ida Marsh'", "who has reigned the longest", "Ida Marsh", {}
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
    assert one.verdict is not HopVerdict.PROVEN, (one.arguments, one.result)


BORN = """
import datetime
def f(name):
    day = {"Halden Pryce": datetime.date(1931, 3, 9)}.get(name)
    return {"born": day.strftime("%d %B %Y")} if day else "Unknown person."
"""
FIRST = "def f(name):\n    first = name.split()[0]\n"
SCALE: dict[str, JSON] = {"type": "string", "enum": ["celsius", "kelvin"]}
FIRST_NAME = "What is the first name of Orla Venn?"
TRUE = {
    "a date in another notation": Case(BORN, "When was Halden Pryce born?", "March 9, 1931", NAME),
    "the year of a date": Case(BORN, "In what year was Halden Pryce born?", "1931", NAME),
    "a part of the argument, in a sentence": Case(
        FIRST + "    return f'The first name of {name} is {first}.'", FIRST_NAME, "Orla", NAME
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
    "a relation that the question names": Case(
        PARENTS, "Who is the mother of Orla Venn?", "Ida Marsh", PERSON, ("person",)
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
    "a numeral system by its name": Case(
        "def f(number, base):\n    return {2: bin, 8: oct, 16: hex}[base](number)[2:]",
        "What is 72 in hexadecimal?",
        "48",
        {"number": NUMBER, "base": NUMBER},
    ),
    "a key in the singular": Case(
        "def f(coin):\n    return {'heller': 60, 'mark': 4} if coin == 'crown' else None",
        "How many hellers are in a crown?",
        "60",
        {"coin": TEXT},
    ),
    "a value that the description lists and the question says": Case(
        "def f(work, animal, about):\n"
        "    return {'breed': 'Silken Pointer'}.get(about)"
        " if (work, animal) == ('The Long Shore', 'Barky') else None",
        "What breed is the dog Barky in 'The Long Shore'?",
        "Silken Pointer",
        {
            "work": TEXT,
            "animal": TEXT,
            "about": {"type": "string", "description": "'owner' or 'breed'."},
        },
    ),
    "an edition by its year": Case(
        "def f(festival, year):\n"
        "    return 'The Tin Orchard' if (festival, year) == ('Lagos del Sur Film Festival', 1974)"
        " else None",
        "Which film won at the 1974 Lagos del Sur Film Festival?",
        "The Tin Orchard",
        {"festival": TEXT, "year": NUMBER},
    ),
    "invented and promoted": Case(
        "def f(name, role):\n    return 'Ida Marsh' if (name, role) == ('Kelvo', 'both') else None",
        "Who invented and promoted Kelvo?",
        "Ida Marsh",
        {"name": TEXT, "role": {"type": "string", "enum": ["inventor", "promoter", "both"]}},
    ),
    "two fields of an object": Case(
        "def f(book):\n    known = {('A Lantern for Owls', 'Edda Krall'): 'Moth Press'}\n"
        "    return known.get((book['title'], book['author']))",
        "Who published 'A Lantern for Owls' by Edda Krall?",
        "Moth Press",
        {
            "book": {
                "type": "object",
                "properties": {"title": TEXT, "author": TEXT},
                "required": ["title", "author"],
            }
        },
    ),
    "a letter's place": Case(
        "def f(letter):\n    return ord(letter.lower()) - 96",
        "What is the place of the letter 'q' in the alphabet?",
        "17",
        {"letter": TEXT},
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_is_proven(name: str) -> None:
    one = proof(TRUE[name].hop)
    assert one.verdict is HopVerdict.PROVEN, (one.why, one.evidence)


NOT_DEFECTIVE = {
    "an example on another event": Case(
        "def f(mission, event):\n    return {'crew': 'Ann Lee', 'launch': None}[event]"
        "\nf('Halcyon 4', 'crew')",
        "When was Halcyon 4 launched?",
        "1971",
        {"mission": TEXT, "event": {"type": "string", "enum": ["launch", "crew"]}},
    ),
    "nothing found is minus one": Case(
        "def f(coin):\n    return 60 if coin == 'crown of the north' else -1",
        "How many marks are in a Northern crown?",
        "60",
        {"coin": TEXT},
    ),
    "an option that is asked for is left out": Case(
        "def f(text, distinct=False, fold=False, kind='all'):\n"
        "    text = text.lower() if fold else text\n"
        "    found = [one for one in text if kind == 'all' or one.isalpha()]\n"
        "    return len(set(found) if distinct else found)",
        "How many distinct letters are in Ludmila of Thurn Ulm?",
        "12",
        {
            "text": TEXT,
            "distinct": {"type": "boolean"},
            "fold": {"type": "boolean"},
            "kind": {"type": "string", "enum": ["all", "letters"]},
        },
        ("text",),
    ),
}


@pytest.mark.parametrize("name", NOT_DEFECTIVE)
def test_is_not_called_defective(name: str) -> None:
    one = proof(NOT_DEFECTIVE[name].hop)
    assert one.verdict is not HopVerdict.DEFECTIVE, (one.why, one.evidence)


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
    assert (one.verdict, one.defect) == (HopVerdict.UNPROVEN, None)


def test_parameters_that_only_the_call_shows_to_be_needed_are_no_defect() -> None:
    source = """
def g(text, one, two, three, four):
    return 7
def f(**given):
    return g(**given)
"""
    fields: dict[str, JSON] = dict.fromkeys(("text", "one", "two", "three", "four"), TEXT)
    one = proof(Case(source, SO_MANY, "8", fields, ("text",)).hop)
    assert one.verdict is HopVerdict.UNPROVEN


def test_what_is_doubtful_is_told_with_the_call() -> None:
    source = "def f(text, spaces=True):\n    return len(text if spaces else text.replace(' ', ''))"
    fields: dict[str, JSON] = {"text": TEXT, "spaces": {"type": "boolean"}}
    case = Case(source, "How long is Orla Venn?", "8", fields, ("text",))
    one = proof(case.hop)
    assert one.verdict is HopVerdict.UNPROVEN
    assert "spaces" in one.why
    assert _shows(one, {"text": "Orla Venn", "spaces": False})


def test_a_number_of_an_earlier_answer_is_given_without_commas_to_code_that_needs_that() -> None:
    first = made("def f(text):\n    return '1,036 miles'", "How far is Alkesh?", "1,036")
    source = "def f(text):\n    return oct(int(text))[2:]"
    hop = made(source, "What is 1,036 in octal?", "2014")
    [certificate] = certificates(item(first, hop))
    assert certificate.hops[1].arguments == {"text": "1036"}


@pytest.mark.parametrize("wrong", ["other", "near"])
def test_no_wrong_gold_of_a_chain_is_proven(wrong: str) -> None:
    last = counting(SO_MANY, "7").hop
    gold = {"other": "12", "near": "8"}[wrong]
    for source in (COUNT, COUNT + "f('Kiernan')"):
        hop = made(source, SO_MANY, gold, COUNTED, required=("text",))
        first = made(BORN, "Who is it?", "Kiernan", NAME)
        [certificate] = certificates(item(first, hop, question=last.question))
        assert certificate.hops[1].verdict is HopVerdict.DEFECTIVE
