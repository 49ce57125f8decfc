from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.env.made import object_schema, validator
from toolhop_env.repair import LONGEST_CHARS, repair
from toolhop_env.validation import Validator
from toolhop_env.verdicts import Call
from toolhop_tools.model import ToolSchema

SCHEMA = object_schema(
    n={"type": "integer"},
    s={"type": "string"},
    b={"type": "boolean"},
    f={"type": "number"},
    l={"type": "array", "items": {"type": "integer"}},
    o={"type": "object", "properties": {"k": {"type": "integer"}}},
    e={"type": "string", "enum": ["km", "Mile", "MILE"]},
    m={"anyOf": [{"type": "integer"}, {"type": "null"}]},
    v={"type": ["boolean", "null"]},
)
NEEDS = object_schema("n", **SCHEMA["properties"])  # type: ignore[arg-type]

REPAIRED: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "quotes behind": ('{}""', {}, ("surrounding_text",)),
    "a brace too many": ('{"n": 1}}', {"n": 1}, ("surrounding_text",)),
    "prose around": ('Sure: {"s": "a}"} there', {"s": "a}"}, ("surrounding_text",)),
    "byte order mark": ('\ufeff{"n": 1}', {"n": 1}, ("surrounding_text",)),
    "fence": ('```json\n{"n": 1}\n```', {"n": 1}, ("code_fence",)),
    "fence on one line": ('```{"n": 1}```', {"n": 1}, ("code_fence",)),
    "fence with a label at once": ('```json{"n": 1}```', {"n": 1}, ("code_fence",)),
    "fence in prose": ('Here:\n```json\n{"n": 1}\n```\nDone.', {"n": 1}, ("code_fence",)),
    "fence that is not closed": ('```json\n{"n": 1}', {"n": 1}, ("code_fence",)),
    "single quotes": ("{'n': 1, 's': 'it\\'s'}", {"n": 1, "s": "it's"}, ("python_literal",)),
    "python's constants": ('{"b": True, "m": None}', {"b": True, "m": None}, ("python_literal",)),
    "tuple": ('{"l": (1, 2)}', {"l": [1, 2]}, ("python_literal",)),
    "trailing comma": ('{"b": true,}', {"b": True}, ("trailing_comma",)),
    "trailing comma, not in text": (
        '{"s": "a,]", "b": true,}',
        {"s": "a,]", "b": True},
        ("trailing_comma",),
    ),
    "cut in a number": ('{"n": 12', {"n": 12}, ("unclosed",)),
    "cut in a text": ('{"s": "New Yo', {"s": "New Yo"}, ("unclosed",)),
    "cut after an escaped quote": ('{"s": "a\\"', {"s": 'a"'}, ("unclosed",)),
    "cut in single quotes": ("{'s': 'a]", {"s": "a]"}, ("unclosed", "python_literal")),
    "cut inside": ('{"o": {"k": 1}, "l": [1, 2', {"o": {"k": 1}, "l": [1, 2]}, ("unclosed",)),
    "cut after a comma": ('{"b": true,', {"b": True}, ("unclosed", "trailing_comma")),
    "encoded twice": ('"{\\"n\\": 1}"', {"n": 1}, ("encoded_twice",)),
    "empty": ("", {}, ("empty",)),
    "space": (" \n", {}, ("empty",)),
    "null": ("null", {}, ("empty",)),
    "None": ("None", {}, ("empty",)),
    "a line break in a text": ('{"s": "a\nb"}', {"s": "a\nb"}, ("lenient_json",)),
    "a key twice": ('{"n": 1, "n": 2}', {"n": 2}, ("lenient_json",)),
    "integer as text": ('{"n": "5"}', {"n": 5}, ("type_converted",)),
    "negative integer as text": ('{"n": " -5 "}', {"n": -5}, ("type_converted",)),
    "number as text": ('{"f": "2.5"}', {"f": 2.5}, ("type_converted",)),
    "integer for text": ('{"s": 1999}', {"s": "1999"}, ("type_converted",)),
    "boolean as text": (
        '{"b": "True", "v": "false"}',
        {"b": True, "v": False},
        ("type_converted",),
    ),
    "one for many": ('{"l": 5}', {"l": [5]}, ("type_converted",)),
    "text for many": ('{"l": "5"}', {"l": [5]}, ("type_converted",)),
    "array as text": ('{"l": "[1, 2]"}', {"l": [1, 2]}, ("type_converted",)),
    "items as text": ('{"l": ["1", "2"]}', {"l": [1, 2]}, ("type_converted",)),
    "object as text": ('{"o": "{\\"k\\": \\"1\\"}"}', {"o": {"k": "1"}}, ()),
    "object as text, inside too": ('{"o": {"k": "1"}}', {"o": {"k": 1}}, ("type_converted",)),
    "of what may be null": ('{"m": "5"}', {"m": 5}, ("type_converted",)),
    "enum's case": ('{"e": " KM"}', {"e": "km"}, ("type_converted",)),
    "undeclared": ('{"n": 1, "zz": 2}', {"n": 1}, ("extra_dropped",)),
    "null for what is left out": ('{"n": 1, "s": null}', {"n": 1}, ("null_dropped",)),
    "only the null that is wrong": ('{"m": null, "s": null}', {"m": None}, ("null_dropped",)),
    "wrapped": ('{"arguments": {"n": 1}}', {"n": 1}, ("unwrapped",)),
    "the whole call": ('{"name": "f", "parameters": {"n": 1}}', {"n": 1}, ("unwrapped",)),
    "two things": ("{'n': '5'}", {"n": 5}, ("python_literal", "type_converted")),
    "everything": (
        "```\nfoo {'arguments': {'n': '5', 'zz': 1, 's': None},\n```",
        {"n": 5},
        (
            *("code_fence", "surrounding_text", "unclosed", "python_literal"),
            *("unwrapped", "extra_dropped", "null_dropped", "type_converted"),
        ),
    ),
}
REPAIRED["object as text"] = ('{"o": "{\\"k\\": 1}"}', {"o": {"k": 1}}, ("type_converted",))


@pytest.mark.parametrize(("text", "arguments", "steps"), REPAIRED.values(), ids=REPAIRED)
def test_what_lenient_readers_mend(
    text: str, arguments: dict[str, Any], steps: tuple[str, ...]
) -> None:
    tools = validator(SCHEMA)
    assert not isinstance(tools.check("f", text), Call)
    found = repair(tools, "f", text)
    assert found is not None
    assert (found.tool, found.arguments, found.steps) == ("f", arguments, steps)
    assert [type(v) for v in found.arguments.values()] == [type(v) for v in arguments.values()]


NOT_REPAIRED = {
    "a value without a name": "5",
    "values without names": "[5]",
    "a name without a value": '{"n"}',
    "a cut name": '{"n": 1, "s',
    "a cut constant": '{"b": tru',
    "assignment": "n=1",
    "a call": "f(n=1)",
    "unquoted names": "{n: 1}",
    "nothing for what is needed": "{}",
    "empty for what is needed": "",
    "null for what is needed": '{"n": null}',
    "another name": '{"number": 1}',
    "a word for a number": '{"n": "five"}',
    "a fraction for an integer": '{"n": "5.5"}',
    "a truth for an integer": '{"n": true}',
    "a grouped number": '{"n": "5,000"}',
    "yes for true": '{"n": 1, "b": "yes"}',
    "1 for true": '{"n": 1, "b": 1}',
    "a float for text: 1.10 is not 1.1": '{"n": 1, "s": 1.10}',
    "true for text": '{"n": 1, "s": true}',
    "an enum of two spellings": '{"n": 1, "e": "mile"}',
    "another enum": '{"n": 1, "e": "m"}',
    "no number": '{"n": NaN}',
    "too large a number": '{"n": 1, "f": 1e999}',
    "half a pair": '{"n": 1, "s": "\\ud800"}',
    "bytes": "{'n': 1, 's': b'x'}",
    "a set": "{'n': 1, 'l': {1, 2}}",
    "an expression": "{'n': 2 ** 9}",
    "a name of python's": "{'n': __import__('os')}",
    "names that are numbers": "{1: 2}",
    "the call of another tool": '{"name": "g", "arguments": {"n": 1}}',
    "two wrappers": '{"arguments": {"n": 1}, "input": {"n": 2}}',
    "encoded thrice": json.dumps(json.dumps(json.dumps({"n": 1}))),
    "html": "<n>1</n>",
}


@pytest.mark.parametrize("text", NOT_REPAIRED.values(), ids=NOT_REPAIRED)
def test_what_is_not_repaired(text: str) -> None:
    assert repair(validator(NEEDS), "f", text) is None


def test_a_valid_call_needs_no_repair() -> None:
    assert repair(validator(SCHEMA), "f", '{"n": 1}') is None


def test_declared_names_are_no_wrapping() -> None:
    tools = validator(object_schema("input", input={"type": "object"}))
    found = repair(tools, "f", "{'input': {'n': 1}}")
    assert found is not None
    assert found.arguments == {"input": {"n": 1}}


def test_open_schemas_lose_no_arguments() -> None:
    schema = {**object_schema(n={"type": "integer"}), "additionalProperties": True}
    found = repair(validator(schema), "f", '{"n": "5", "zz": 1}')
    assert found is not None
    assert (found.arguments, found.steps) == ({"n": 5, "zz": 1}, ("type_converted",))


def test_names_that_are_required_and_not_described_stay() -> None:
    found = repair(validator(object_schema("a")), "f", '{"a": 1, "b": 2}')
    assert found is not None
    assert found.arguments == {"a": 1}


def test_an_enum_that_fits_is_not_respelt() -> None:
    schema = object_schema(e={"enum": ["KM", "km"]}, n={"type": "integer"})
    found = repair(validator(schema), "f", '{"e": "km", "n": "1"}')
    assert found is not None
    assert found.arguments == {"e": "km", "n": 1}


@pytest.mark.parametrize(
    ("given_name", "tool", "step"),
    [
        (" get_city ", "get_city", "name_trimmed"),
        ("`get_city`", "get_city", "name_trimmed"),
        ("get_city()", "get_city", "name_trimmed"),
        ("functions.get_city", "get_city", "name_trimmed"),
        ("GetCity", "get_city", "name_spelling"),
        ("get-city", "get_city", "name_spelling"),
        ("get_citi", "get_city", None),
        ("get_capitol", "get_capital", "name_nearest"),
        ("get_capitals", "get_capital", "name_nearest"),
        ("set_city", None, None),
        ("city", None, None),
        ("get_city_now", None, None),
        ("ask_3", None, None),
        ("ask", None, None),
        ("ask_2", "ask_2", None),
        ("AB", None, None),
        ("", None, None),
        ("___", None, None),
        ("x" * 100_000, None, None),
    ],
)
def test_names(given_name: str, tool: str | None, step: str | None) -> None:
    tools = validator({}, "get_city", "get_capital", "ask_2", "a_b", "ab")
    found = repair(tools, given_name, "{}")
    if step is None:
        assert found is None
    else:
        assert found is not None
        assert (found.tool, found.steps) == (tool, (step,))


def test_the_cheapest_repair_is_taken_and_always_the_same() -> None:
    # Dropping the name costs one step; reading the wrapper's inside would cost two.
    text = '{"n": 1, "arguments": {"n": "2"}}'
    found = [repair(validator(SCHEMA), "f", text) for _ in range(3)]
    assert found[0] is not None
    assert found[0].steps == ("extra_dropped",)
    assert found.count(found[0]) == 3


def test_an_invalid_schema_passes_no_half_pair() -> None:
    tools = validator(object_schema(s={"type": "float"}))
    assert repair(tools, "f", "{'s': '\\ud800'}") is None


NASTY = {
    "braces": "{" * LONGEST_CHARS,
    "nested": '{"a":' * (LONGEST_CHARS // 5),
    "brackets": '{"l": ' + "[" * (LONGEST_CHARS - 10),
    "fence and spaces": "```json " + " " * (LONGEST_CHARS - 10),
    "fences": "```json " * (LONGEST_CHARS // 8),
    "commas": '{"l": [' + "1," * (LONGEST_CHARS // 2 - 10),
    "only commas": "{" + "," * (LONGEST_CHARS - 1),
    "spaces behind commas": "{" + (", " * (LONGEST_CHARS // 2 - 1)),
    "a gap": "{," + " " * (LONGEST_CHARS - 3),
    "backslashes": '{"s": "' + "\\" * (LONGEST_CHARS - 10),
    "quotes": "{" + '"' * (LONGEST_CHARS - 1),
    "single quotes": "{'s': '" + "x" * (LONGEST_CHARS - 10),
    "python list": "{'l': [" + "'1'," * (LONGEST_CHARS // 4 - 5) + "]}",
    "minus": '{"n": ' + "-" * (LONGEST_CHARS - 10) + "1}",
    "sum": '{"n": ' + "1+" * (LONGEST_CHARS // 2 - 10) + "1}",
    "parentheses": '{"n": ' + "(" * (LONGEST_CHARS - 10) + "}",
    "undeclared": "{" + ",".join(f'"k{n}":1' for n in range(LONGEST_CHARS // 10)) + "}",
    "keys twice": "{" + ",".join('"n":1' for _ in range(LONGEST_CHARS // 6)) + "}",
    "long": "{'s': '" + "x" * 100_000 + "'}",
    "very long": "{'l': [" + "1," * 500_000 + "]}",
}


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_no_text_is_slow_to_check_and_mend(text: str) -> None:
    tools = validator(SCHEMA)
    tools.check("f", "{}")
    took = []
    for _ in range(2):
        began = time.process_time()
        tools.check("f", text)
        repair(tools, "f", text)
        took.append(time.process_time() - began)
    # 1 to 160 ms where this was written. The bound is for what grows faster than the text.
    assert min(took) < 1


@pytest.mark.filterwarnings("error")
def test_a_strangers_escapes_do_not_warn() -> None:
    found = repair(validator(SCHEMA), "f", r"{'s': '\d'}")
    assert found is not None
    assert found.arguments == {"s": r"\d"}


SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.text("ab5 ,]}'\"\\", max_size=4)
OBJECTS: Any = st.dictionaries(
    st.sampled_from([*"nsbfloemv", "zz", "arguments", "input"]),
    SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.just("k"), SCALARS),
    max_size=4,
)


@st.composite
def spoiled(draw: st.DrawFn) -> str:
    """The text of an object, cut, quoted or dressed."""
    value = draw(OBJECTS)
    text = draw(st.sampled_from([json.dumps, repr, lambda v: json.dumps({"arguments": v})]))(value)
    text = text[: draw(st.none() | st.integers(0, len(text)))]
    dress = draw(st.sampled_from(["{}", "```json\n{}\n```", "Use {} now", "{}{{}}", "{},", '{}""']))
    return str(dress.format(text))


def texts(value: object) -> list[str]:
    """Names and scalars in a value, as text."""
    if isinstance(value, dict):
        return [found for pair in value.items() for part in pair for found in texts(part)]
    if isinstance(value, list):
        return [found for part in value for found in texts(part)]
    return [value] if isinstance(value, str) else [json.dumps(value)]


def plain(text: str) -> str:
    text = text.replace("\\\\", "\\").replace("\\", "").casefold()
    return re.sub(r"none", "null", text)


@given(spoiled(), st.sampled_from([SCHEMA, NEEDS, {"type": "object"}, {}]))
def test_a_repair_fits_and_makes_nothing_up(text: str, schema: dict[str, Any]) -> None:
    tools = Validator([ToolSchema("f", "", schema)])
    found = repair(tools, "f", text)
    if isinstance(tools.check("f", text), Call):
        assert found is None
    elif found is not None:
        assert found.steps
        assert isinstance(tools.check("f", json.dumps(found.arguments)), Call)
        for part in texts(found.arguments):
            assert plain(part) in plain(text), (part, text)
