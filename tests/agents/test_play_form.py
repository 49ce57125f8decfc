from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhop_agents.play.form import Cancelled, Unfit, fill, parameters, read
from toolhop_env.validation import Validator
from toolhop_tools.model import ToolSchema

SCHEMAS: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "maxLength": 8},
    "whole": {"type": "integer", "minimum": 0},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "choice": {"type": "string", "enum": ["plain", "upper", "two words"]},
    "year": {"enum": [1900, 2000]},
    "numbers": {"type": "array", "items": {"type": "integer"}},
    "words": {"type": "array", "items": {"type": "string"}},
    "pairs": {"type": "array", "items": {"type": "array"}},
    "thing": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
    "either": {"type": ["string", "null"]},
    "union": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    "any": {},
    "odd": {"type": "string", "pattern": "^x"},
}


def document(required: tuple[str, ...] = (), *names: str, **more: object) -> ToolSchema:
    properties = {name: SCHEMAS[name] for name in names or SCHEMAS}
    schema: dict[str, Any] = {"type": "object", "properties": properties | more}
    return ToolSchema("t", "A tool.", schema | {"required": list(required)})


def value(name: str, text: str) -> object:
    one = document((name,), name)
    return read(parameters(one)[0], text, Validator([one]))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("text", "Oslo", "Oslo"),
        ("text", "42", "42"),
        ("text", "true", "true"),
        ("text", '""', ""),
        ("text", '"a\\n"', "a\n"),
        ("text", '"open', '"open'),
        ("text", "{x}", "{x}"),
        ("text", "Zürich ß", "Zürich ß"),
        ("text", ":)", ":)"),
        ("whole", "7", 7),
        ("number", "1.5", 1.5),
        ("number", "-2", -2),
        ("flag", "true", True),
        ("flag", "No", False),
        ("choice", "upper", "upper"),
        ("choice", "UPPER", "upper"),
        ("choice", "two words", "two words"),
        ("choice", '"upper"', "upper"),
        ("year", "2000", 2000),
        ("numbers", "1, 2,3", [1, 2, 3]),
        ("numbers", "[1, 2]", [1, 2]),
        ("numbers", "5", [5]),
        ("numbers", "[]", []),
        ("words", "a b, 2, c", ["a b", "2", "c"]),
        ("words", '["a, b"]', ["a, b"]),
        ("pairs", "[[1]]", [[1]]),
        ("thing", '{"a": 1}', {"a": 1}),
        ("either", "null", None),
        ("either", "nothing", "nothing"),
        ("union", "5", 5),
        ("union", "five", "five"),
        ("any", "[1]", [1]),
        ("any", "one", "one"),
    ],
)
def test_a_text_is_read_as_the_schema_wants_it(name: str, text: str, expected: object) -> None:
    assert value(name, text) == expected
    assert type(value(name, text)) is type(expected)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("text", "longer than 8", "maxLength 8"),
        ("text", "123456789", "maxLength 8"),
        ("text", "", 'text is required; "" gives the empty text'),
        ("whole", "", "whole is required"),
        ("whole", "1.5", "whole takes integer, not 1.5"),
        ("whole", "one", 'whole takes integer, not "one"'),
        ("whole", "-1", "whole must satisfy: minimum 0"),
        ("flag", "maybe", "boolean"),
        ("choice", "lower", 'one of "plain", "upper", "two words"'),
        ("numbers", "1, x", 'numbers[1] takes integer, not "x"'),
        ("numbers", "[1, x]", "this is not JSON"),
        ("pairs", "1, 2", "array"),
        ("thing", "{}", "thing.a is missing"),
        ("thing", '{"a": "x"}', "thing.a takes integer"),
        ("thing", "{a}", "this is not JSON"),
        ("odd", "y", "odd must satisfy: "),
        ("text", ":help", ":cancel leaves the form first"),
    ],
)
def test_what_does_not_fit_is_said(name: str, text: str, message: str) -> None:
    with pytest.raises(Unfit) as raised:
        value(name, text)
    assert message in str(raised.value)


def test_required_parameters_come_first_and_undescribed_ones_too() -> None:
    one = document(("flag", "ghost"), "text", "flag")
    found = [(parameter.name, parameter.required) for parameter in parameters(one)]
    assert found == [("flag", True), ("ghost", True), ("text", False)]


def answers(one: ToolSchema, *texts: str) -> tuple[str, list[tuple[str, str]]]:
    """The arguments' text, and what was asked with what trouble."""
    form = fill(one)
    asked = []
    try:
        ask = next(form)
        for text in texts:
            asked.append((ask.parameter.name, ask.trouble))
            ask = form.send(text)
    except StopIteration as done:
        return done.value, asked
    raise AssertionError(f"the form still asks for {ask.parameter.name}")


def test_a_form_asks_again_until_the_value_fits() -> None:
    one = document(("whole",), "whole", "text")
    text, asked = answers(one, "", "x", " 3 ", "")
    assert json.loads(text) == {"whole": 3}
    assert [name for name, _ in asked] == ["whole", "whole", "whole", "text"]
    assert asked[1][1].startswith("whole is required")
    assert asked[3][1] == ""


def test_an_empty_text_takes_the_default_of_what_is_required_only() -> None:
    needed = {"type": "integer", "default": 4}
    one = document(("needed",), "text", needed=needed, spare=needed)
    assert json.loads(answers(one, "", "", "")[0]) == {"needed": 4}


def test_a_form_without_parameters_asks_nothing() -> None:
    assert answers(ToolSchema("t", "", {})) == ("{}", [])


def test_cancel_leaves_the_form() -> None:
    with pytest.raises(Cancelled):
        answers(document(), ":cancel")


def test_one_field_back_asks_again_and_forgets_what_was_given() -> None:
    one = document(("whole",), "whole", "text")
    text, asked = answers(one, ":back", "3", ":back", "4", "x")
    assert json.loads(text) == {"whole": 4, "text": "x"}
    assert [name for name, _ in asked] == ["whole", "whole", "text", "whole", "text"]
    assert asked[1][1] == "this is the first field"
    text, _ = answers(document((), "whole", "text"), "3", ":back", "", "")
    assert json.loads(text) == {}


def test_choices_and_kinds_for_the_screen() -> None:
    by_name = {parameter.name: parameter for parameter in parameters(document())}
    assert by_name["choice"].choices == ("plain", "upper", "two words")
    assert by_name["year"].choices == ("1900", "2000")
    assert by_name["flag"].choices == ("true", "false")
    assert by_name["text"].choices == ()
    assert by_name["numbers"].kind == "array of integer"
    assert by_name["any"].kind == "any JSON value"


@given(st.sampled_from(sorted(SCHEMAS)), st.text())
def test_any_text_gives_a_value_that_fits_or_is_told_why_not(name: str, text: str) -> None:
    one = document((name,), name)
    validator = Validator([one])
    with contextlib.suppress(Unfit):
        found = read(parameters(one)[0], text.strip(), validator)
        assert validator.problems("t", {name: found}) == []


@settings(max_examples=20)
@given(st.dictionaries(st.text(), st.recursive(st.none() | st.text(), st.lists)), st.text())
def test_odd_schemas_break_nothing(schema: dict[str, Any], text: str) -> None:
    one = ToolSchema("t", "", {"properties": {"a": schema, "b": None}, "required": ["b", 3]})
    assert [parameter.name for parameter in parameters(one)] == ["b", "a"]
    with contextlib.suppress(Unfit):
        read(parameters(one)[1], text.strip(), Validator([one]))
