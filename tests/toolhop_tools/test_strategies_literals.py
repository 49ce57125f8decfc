"""Literals that code compares with, by parameter."""

from __future__ import annotations

from typing import Any

import pytest

from toolhop_sandbox.base import Program
from toolhop_tools.strategies.literals import favoured
from toolhop_tools.strategies.schema import Value

NAMES = ("kind", "year", "tags")
SCHEMA: Any = {"type": "object", "properties": {name: {} for name in NAMES}}


def found(body: str, after: str = "") -> dict[str, list[Any]]:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    source = f"def f(kind, year=0, tags=()):\n{lines}\n{after}\n"
    return favoured(Program(source, "f"), SCHEMA)


TABLE: dict[str, tuple[str, str, Any]] = {
    "equal": ("return kind == 'leap'", "kind", "leap"),
    "the other way round": ("return 'leap' == kind", "kind", "leap"),
    "less": ("return year < 1582", "year", 1582),
    "a negative": ("return year < -44", "year", -44),
    "one of": ("return kind in ('a', 'b')", "kind", "b"),
    "within": ("return 'u' in tags", "tags", "u"),
    "a method of it": ("return kind.lower().strip() == 'leap'", "kind", "leap"),
    "a part of it": ("return kind[0] == 'l'", "kind", "l"),
    "a name made of it": ("k = kind.lower()\nreturn k == 'leap'", "kind", "leap"),
    "an element": ("for tag in tags:\n    if tag == 'u': return 1", "tags", "u"),
    "in a comprehension": ("return [t for t in tags if t != 'u']", "tags", "u"),
    "its start": ("return kind.startswith('pre')", "kind", "pre"),
    "a case": ("match kind:\n    case 'a' | 'b': return 1", "kind", "b"),
    "a key": ("return {'a': 1}[kind]", "kind", "a"),
    "a key that is got": ("return {'a': 1}.get(kind)", "kind", "a"),
    "a date in a format of the code": (
        "import datetime\nreturn datetime.datetime.strptime(kind, '%d/%m/%Y').year",
        "",
        "29/02/2000",
    ),
    "a row of a table": ("rows = [{'name': 'Ada'}]\nreturn rows", "", "Ada"),
    "a key of a table": ("rows = {'Ada': 1}\nreturn rows.get(kind.title())", "", "Ada"),
    "a key that is read": ("return tags.get('min')", "", "min"),
}


@pytest.mark.parametrize(("body", "name", "value"), TABLE.values(), ids=TABLE)
def test_literals_go_to_their_parameter(body: str, name: str, value: Value) -> None:
    values = found(body)
    assert value in values[name]
    assert all(value not in others for other, others in values.items() if other != name)


def test_example_calls_come_first() -> None:
    values = found("return kind == 'other'", "f('leap', year=1900)")
    assert values["kind"][:2] == ["leap", "other"]
    assert values["year"] == [1900]


def test_a_single_dictionary_of_arguments_is_understood() -> None:
    source = "def f(params):\n    return params['kind'] == 'a' or params.get('year') == 3\n"
    values = favoured(Program(source, "f"), SCHEMA)
    assert values["kind"] == ["a"]
    assert values["year"] == [3]


def test_sentences_are_no_values() -> None:
    values = found(
        "return {'error': 'No such year is known, and so there is no answer to it, none.'}"
    )
    assert values == {"": ["error"]}


@pytest.mark.parametrize("source", ["def f(:", "", "\x00", "def g(): pass", "f = 1\n" * 5])
def test_code_that_says_nothing_gives_nothing(source: str) -> None:
    assert favoured(Program(source, "f"), SCHEMA) == {}


def test_values_that_no_call_carries_are_left_out() -> None:
    values = found("return kind in ['\\ud800', 1e999, b'x', 2j, 'ok']")
    assert values == {"kind": ["ok"]}
