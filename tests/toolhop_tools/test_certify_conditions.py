"""The five conditions of a proof: each keeps a call from proving, and without it the call would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.toolhop_tools.certifying import NUMBER, TEXT, certificates, item, made, proof, tasks
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify import conditions, search
from toolhop_tools.certify.candidates import Task
from toolhop_tools.certify.judging import judge
from toolhop_tools.certify.model import HopVerdict
from toolhop_tools.certify.readable import Ground, ground, said
from toolhop_tools.certify.rivals import rivals
from toolhop_tools.certify.support import support, switch
from toolhop_tools.leaves import Leaf, leaves
from toolhop_tools.model import Hop

WORDS: dict[str, JSON] = {"words": {"type": "array", "items": TEXT}}
MODE: dict[str, JSON] = {"text": TEXT, "mode": {"type": "string", "enum": ["plain", "double"]}}


@dataclass(frozen=True)
class Case:
    hop: Hop
    module: Any
    condition: str
    without: Callable[..., Any]
    """What the condition says when it is taken out."""


def _nothing(*_: object) -> list[object]:
    return []


def _no(*_: object) -> bool:
    return False


CASES = {
    "accepted: the author's call leaves out what is required": Case(
        made(
            "def f(text, mode='plain'):\n    return len(text) * (1 if mode == 'plain' else 2)",
            "How many letters has Oslo?",
            "4",
            MODE,
            gold={"text": "Oslo"},
        ),
        Task,
        "accepts",
        lambda *_: True,
    ),
    "grounded: only the source knows the key": Case(
        made(
            "def f(name, key):\n    return {'Wells': 'Ada Lund'}.get(name) if key == 'res_001' "
            "else None\nf('Wells', 'res_001')",
            "Who founded Wells?",
            "Ada Lund",
            {"name": TEXT, "key": TEXT},
        ),
        conditions,
        "ungrounded",
        _nothing,
    ),
    "determined: the order is reversed": Case(
        made("def f(words):\n    return ''.join(words)", "Join 'sun' and 'ray'.", "raysun", WORDS),
        search,
        "rivals",
        _nothing,
    ),
    "determined: the call ignores a condition": Case(
        made(
            "def f(text, skip=()):\n    return len(text) - len(skip)",
            "How many letters, the first and the last aside, has Kiernan?",
            "7",
            {
                "text": TEXT,
                "skip": {"type": "array", "items": {"type": "string", "enum": ["first", "last"]}},
            },
            required=["text"],
        ),
        search,
        "rivals",
        _nothing,
    ),
    "discriminating: nearly every name gives the answer": Case(
        made(
            "def f(name):\n    return 'Ada Lund' if len(name) > 3 else None",
            "Who founded Wells?",
            "Ada Lund",
            {"name": TEXT},
        ),
        conditions,
        "nearly_constant",
        _no,
    ),
    "discriminating: the tool repeats its argument": Case(
        made(
            "def f(name):\n    return {'found': name}",
            "Who is the father of Orla Venn?",
            "orla venn",
            {"name": TEXT},
        ),
        conditions,
        "follows",
        _no,
    ),
    "hitting: another field is asked for": Case(
        made(
            "def f(name):\n    return {'height': 2871, 'opened': 1902} if name == 'Karst' else 0",
            "When was Karst opened?",
            "2871",
            {"name": TEXT},
        ),
        search,
        "hitting",
        lambda task, value, arguments: judge(task.asked.gold, value, dict(arguments)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_condition_is_what_keeps_a_call_from_proving(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    assert proof(case.hop).verdict is not HopVerdict.PROVEN
    monkeypatch.setattr(case.module, case.condition, case.without)
    assert proof(case.hop).verdict is HopVerdict.PROVEN


# --- grounds

ASKED = (
    "What are the 6 years before 3 September 1992 for Ada Byron of Leeds and 'Red Sea', 1,250 m?"
)
GROUNDS: dict[str, tuple[JSON, dict[str, JSON], Ground]] = {
    "a name": ("Ada Byron of Leeds", TEXT, Ground.SAID),
    "a quoted text": ("Red Sea", TEXT, Ground.SAID),
    "other capitals": ("RED SEA", TEXT, Ground.CHANGED),
    "a part of a name": ("Byron", TEXT, Ground.CHANGED),
    "a date in another notation": ("1992-09-03", TEXT, Ground.SAID),
    "a date in a notation that the schema names": (
        "03/09/1992",
        {"type": "string", "description": "A day as DD/MM/YYYY."},
        Ground.SAID,
    ),
    "a date in a notation that nothing names": ("03/09/1992", TEXT, Ground.NOWHERE),
    "a part of a date": (1992, NUMBER, Ground.SAID),
    "a number without its unit": (1250, NUMBER, Ground.SAID),
    "a plural": ("year", TEXT, Ground.SAID),
    "a choice": ("deep", {"type": "string", "enum": ["deep", "wide"]}, Ground.SCHEMA),
    "a default": ("deep", {"type": "string", "default": "deep"}, Ground.SCHEMA),
    "a description": (
        "atlas",
        {"type": "string", "description": "A source, such as the atlas."},
        Ground.SCHEMA,
    ),
    "an answer that is not named": ("Otto Falk", TEXT, Ground.ELSEWHERE),
    "nothing": ("res_001", TEXT, Ground.NOWHERE),
    "a longer name than is said": ("Lady Ada Byron", TEXT, Ground.NOWHERE),
    "another number": (77, NUMBER, Ground.NOWHERE),
}


@pytest.mark.parametrize("name", GROUNDS)
def test_where_a_value_can_be_had(name: str) -> None:
    value, schema, wanted = GROUNDS[name]
    first = made("def f(text):\n    return 1", "Who is it?", "Otto Falk")
    hop = made("def f(given):\n    return 1", ASKED, "x", {"given": schema})
    task = tasks(item(first, hop))[1]
    [leaf] = leaves(task.schema, {"given": value})
    assert ground(task.asked, leaf) is wanted


def test_a_minus_is_said_by_a_word() -> None:
    hop = made("def f(n):\n    return 1", "Which year is 6 years before 1999?", "1993")
    asked = tasks(item(hop))[0].asked
    assert ground(asked, Leaf(("years_to_add",), -6, {}, "")) is Ground.SAID
    assert ground(asked, Leaf(("years_to_add",), 6, {}, "")) is Ground.CHANGED
    assert ground(asked, Leaf(("years",), -6, {}, "")) is Ground.CHANGED


def test_two_arguments_do_not_share_a_place() -> None:
    hop = made("def f(words):\n    return 1", "Join 'sun' and 'ray'.", "sunray", WORDS)
    [task] = tasks(item(hop))
    assert not conditions.ungrounded(task, {"words": ["sun", "ray"]})
    twice: list[JSON] = ["sun", "sun and ray"]
    assert [leaf.value for leaf in conditions.ungrounded(task, {"words": twice})] == ["sun and ray"]


@pytest.mark.parametrize(
    ("choice", "question", "least"),
    [
        ("birth_year", "In what year was she born?", 0.8),
        ("spouse", "Who is the husband of Ada?", 0.8),
        ("father", "Who is the father of Ada?", 1.0),
        ("subtract", "What is the difference of 3 and 2?", 0.8),
    ],
)
def test_a_word_speaks_for_a_choice(choice: str, question: str, least: float) -> None:
    hop = made("def f(text):\n    return 1", question, "x")
    assert said(choice, tasks(item(hop))[0].asked) >= least
    assert said("mountain", tasks(item(hop))[0].asked) == 0


# --- what speaks for a call

SUBTRACT: dict[str, JSON] = {"minuend": NUMBER, "subtrahend": NUMBER}
ORDERS = {
    "order of mention": ("What is 8 minus 6?", 1),
    "turned by a word": ("What is the result when you subtract 8 from 6?", -1),
    "left open": ("What is the difference between 8 and 6?", 0),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_of_mention(name: str) -> None:
    question, wanted = ORDERS[name]
    [task] = tasks(item(made("def f(a, b):\n    return a - b", question, "2", SUBTRACT)))
    assert support(task, {"minuend": 8, "subtrahend": 6}).order == wanted
    assert support(task, {"minuend": 6, "subtrahend": 8}).order == -wanted


@pytest.mark.parametrize(
    ("name", "question", "told"),
    [
        ("remove_spaces", "How long is 'a b' when you remove the spaces?", True),
        ("include_spaces", "How long is 'a b' when you remove the spaces?", False),
        ("include_spaces", "How long is 'a b', spaces included?", True),
        ("ignore_case", "How long is 'a b'?", None),
    ],
)
def test_a_question_sets_a_switch(name: str, question: str, told: bool | None) -> None:
    [task] = tasks(item(made("def f(text):\n    return 1", question, "2", {"text": TEXT})))
    assert switch(task, name) is told


def test_rivals_are_one_step_away_and_accepted() -> None:
    hop = made("def f(text, mode='plain'):\n    return 1", "How long is Oslo?", "4", MODE)
    [task] = tasks(item(hop))
    near = rivals(task, {"text": "Oslo", "mode": "plain"})
    assert {"text": "Oslo", "mode": "double"} in near
    assert all(set(one) == {"text", "mode"} for one in near)


def test_an_answer_that_its_tool_spelled_otherwise_is_ambiguous() -> None:
    upper = made("def f(text):\n    return text[-1].upper()", "The last letter of Matt?", "t")
    code = made(
        "def g(text):\n    return ord(text)\ng('T')", "What is the code of t?", "84", name="g"
    )
    [certificate] = certificates(item(upper, code))
    assert certificate.hops[0].verdict is HopVerdict.PROVEN
    shown = certificate.hops[1]
    assert shown.verdict is HopVerdict.AMBIGUOUS
    assert [one.arguments["text"] for one in shown.evidence] == ["T", "t"]


# --- what the search tries

FOUND = {
    "a notation that the document names": made(
        "import datetime\ndef f(day):\n"
        "    return datetime.datetime.strptime(day, '%d/%m/%Y').strftime('%A')",
        "Which weekday was 3 September 1992?",
        "Thursday",
        {"day": {"type": "string", "description": "The day as DD/MM/YYYY."}},
    ),
    "a parameter that the error message asks for": made(
        "def f(name, field=None, kind=None, scope=None, depth=None):\n"
        "    if field is None or scope is None or depth is None:\n"
        "        raise ValueError('field, scope and depth are required')\n"
        "    return {'founder': 'Ada Lund'}.get(field) if name == 'Wells' else None",
        "Who is the founder of Wells?",
        "Ada Lund",
        {
            "name": TEXT,
            "field": {"type": "string", "enum": ["founder", "mayor"]},
            "kind": TEXT,
            "scope": {"type": "string", "enum": ["local", "national"]},
            "depth": {"type": "integer", "default": 1},
        },
        required=["name"],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_call_is_found(name: str) -> None:
    one = proof(FOUND[name])
    assert one.verdict is HopVerdict.PROVEN, (one.why, one.evidence)


def test_a_value_that_does_not_matter_needs_no_ground() -> None:
    source = "def f(name, source):\n    return {'Wells': 'Ada Lund'}.get(name)\nf('Wells', 'db1')"
    hop = made(source, "Who founded Wells?", "Ada Lund", {"name": TEXT, "source": TEXT})
    assert proof(hop).verdict is HopVerdict.PROVEN
    picky = source.replace("get(name)", "get(name) if source == 'db1' else None")
    one = proof(made(picky, hop.question, hop.answer, {"name": TEXT, "source": TEXT}))
    assert (one.verdict, "db1" in one.why) == (HopVerdict.UNPROVEN, True)
