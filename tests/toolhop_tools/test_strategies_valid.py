"""Hand-picked schemas: what is made of them fits, and shrinks to what a person would write."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel, Field

from tests.toolhop_tools.schemas import drawn, reference, simulator, smallest
from toolhop_env.validation import check_plain
from toolhop_tools.strategies.errors import UnsatisfiableSchema, UnsupportedSchema
from toolhop_tools.strategies.schema import Value
from toolhop_tools.strategies.valid import arguments


def tool(part: Value, **more: Value) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": part}, "required": ["x"], **more}


TEXT = {"type": "string"}
NODE = {"type": "object", "properties": {"v": {"type": "integer"}, "l": {"$ref": "#/$defs/n"}}}
PAIR = {"type": "array", "minItems": 2, "maxItems": 2, "items": {"$ref": "#/$defs/n"}}
LEAF = {"anyOf": [{"type": "integer"}, PAIR]}
A_PART: dict[str, Any] = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
B_PART: dict[str, Any] = {"properties": {"b": {"type": "string"}}, "required": ["b"]}


class _Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(9, ge=1, le=9)


class _Dog(BaseModel):
    kind: Literal["dog"]
    tags: dict[str, float] = {}


class _Visit(BaseModel):
    """A model with most of what a schema of pydantic's can have."""

    day: dt.date
    pet: _Cat | _Dog = Field(discriminator="kind")
    note: str | None = None
    span: tuple[int, str] = (1, "a")
    codes: set[Literal[1, 2, 3]] = set()
    mail: Annotated[str, Field(pattern=r"^[a-z]+@[a-z]+$", max_length=20)] = "a@b"
    before: list[_Visit] = []


PYDANTIC: dict[str, Any] = _Visit.model_json_schema()

SCHEMAS: dict[str, dict[str, Any]] = {
    "nothing at all": {},
    "anything": tool(True),
    "a type list": tool({"type": ["string", "array"]}),
    "an enum of many types": tool({"type": ["string", "null"], "enum": ["a", None, 5]}),
    "a constant": tool({"const": {"a": [1.0]}}),
    "a default beside its enum": tool({"enum": ["a", "b"], "default": "z"}),
    "required and not described": {"type": "object", "properties": {}, "required": ["a"]},
    "exclusive bounds": tool(
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e-9},
    ),
    "a bound no float holds": tool({"type": "number", "minimum": 2**53 + 1, "maximum": 2**53 + 2}),
    "integers between fractions": tool({"type": "integer", "minimum": 0.5, "maximum": 1.5}),
    "large integers": tool({"type": "integer", "minimum": 10**40}),
    "multiples": tool({"type": "integer", "multipleOf": 7, "minimum": -20, "maximum": 20}),
    "multiples of a tenth": tool({"type": "number", "multipleOf": 0.1, "maximum": 5}),
    "multiples of a fraction that are whole": tool({"type": "integer", "multipleOf": 2.5}),
    "a length": tool({"type": "string", "minLength": 3, "maxLength": 3}),
    "a long text": tool({"type": "string", "minLength": 5000}),
    "a pattern found anywhere": tool({"type": "string", "pattern": r"\d-\d"}),
    "a pattern with a length": tool({"pattern": "^[a-z]+$", "minLength": 30, "type": "string"}),
    "no digits of other scripts": tool({"type": "string", "pattern": r"^\d\w\s$"}),
    "a list of some": tool({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}),
    "a set of few": tool(
        {"type": "array", "items": {"enum": [1, 1.0, 2]}, "minItems": 2, "uniqueItems": True}
    ),
    "many elements": tool({"type": "array", "items": {"type": "null"}, "minItems": 200}),
    "a tuple": tool(
        {"type": "array", "prefixItems": [{"type": "integer"}, True], "items": False, "minItems": 2}
    ),
    "a tuple and more": tool(
        {"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "boolean"}}
    ),
    "free names": tool({"type": "object", "additionalProperties": {"type": "integer"}}),
    "so many names": tool({"type": "object", "minProperties": 3, "maxProperties": 3}),
    "few of the names": {
        "properties": {"a": {}, "b": {}, "c": {}},
        "required": ["c"],
        "minProperties": 2,
        "maxProperties": 2,
    },
    "alternatives": tool({"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]}),
    "exactly one": tool({"oneOf": [{"multipleOf": 3}, {"multipleOf": 5}], "type": "integer"}),
    "all together": tool({"allOf": [A_PART, B_PART], "additionalProperties": True}),
    "two choices": {"anyOf": [A_PART, B_PART], "oneOf": [{"required": ["a"]}, {"required": ["c"]}]},
    "a reference that returns": tool({"$ref": "#/$defs/n"}, **{"$defs": {"n": NODE}}),
    "a tree of two": tool({"$ref": "#/$defs/n"}, **{"$defs": {"n": LEAF}}),
    "definitions of old": tool(
        {"$ref": "#/definitions/a~1b", "maxLength": 2}, definitions={"a/b": {"type": "string"}}
    ),
    "the root again": {"properties": {"child": {"$ref": "#"}, "v": {"type": "integer"}}},
    "as pydantic writes a model": PYDANTIC,
    "as OpenAPI writes it": {
        "type": "object",
        "title": "Order",
        "properties": {
            "count": {"type": "integer", "nullable": True, "minimum": 1, "example": 3},
            "state": {"allOf": [{"$ref": "#/$defs/State"}], "description": "Where it is."},
            "price": {"allOf": [{"$ref": "#/$defs/Price"}, {"required": ["currency"]}]},
        },
        "required": ["price"],
        "$defs": {
            "State": {"type": "string", "enum": ["open", "sent"], "x-names": ["Open", "Sent"]},
            "Price": {
                "type": "object",
                "properties": {"amount": {"type": "number"}, "currency": {"type": "string"}},
            },
        },
    },
    "as a server of the Model Context Protocol writes it": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "head": {"type": ["integer", "null"], "exclusiveMinimum": 0},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                    "required": ["old", "new"],
                    "additionalProperties": False,
                },
            },
            "mode": {"const": "text"},
        },
        "required": ["path", "edits"],
        "additionalProperties": False,
    },
    "names that are keywords": {
        "properties": {"$ref": {"type": "integer"}, "enum": {"type": "string"}},
        "required": ["$ref", "enum"],
    },
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_all_that_is_made_is_valid(schema: dict[str, Any]) -> None:
    judge, accepted = reference(schema), simulator(schema)
    for made in drawn(arguments(schema), count=15):
        check_plain(made)
        judge.validate(made)
        assert accepted.fits("f", json.loads(json.dumps(made)))


FORMATS = (
    *("date", "time", "date-time", "duration", "email", "idn-email", "hostname", "idn-hostname"),
    *("ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uri-template", "uuid"),
    *("json-pointer", "relative-json-pointer", "regex"),
)


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_those_of_the_standard(name: str) -> None:
    strict = jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True)
    assert not strict.is_valid("\x00 (")
    texts = [made["x"] for made in drawn(arguments(tool({"type": "string", "format": name})))]
    assert all(strict.is_valid(text) for text in texts)
    assert len(set(texts)) > 1
    judge = reference({"format": name})
    assert all(judge.is_valid(text) for text in texts)


def test_patterns_are_read_as_ecma_script_does() -> None:
    # Python, and so the reference in Python, knows other ways to write these.
    schema = tool({"type": "string", "pattern": r"^(?<y>\d{4})\/[$a-c]$"})
    accepted = simulator(schema)
    for made in drawn(arguments(schema)):
        assert accepted.fits("f", made)
        assert re.fullmatch(r"([0-9]{4})/[$abc]", made["x"])


def test_an_unknown_format_is_a_remark() -> None:
    texts = [made["x"] for made in drawn(arguments(tool({"type": "string", "format": "colour"})))]
    assert len(set(texts)) > 5


SHRUNK: dict[str, tuple[Any, Callable[[Any], bool], Any]] = {
    "any text": ({"type": "string"}, lambda x: True, ""),
    "some text": ({"type": "string"}, lambda x: len(x) > 0, "0"),
    "a long text": ({"type": "string"}, lambda x: len(x) > 60, None),
    "an integer": ({"type": "integer"}, lambda x: True, 0),
    "an integer from 12": ({"type": "integer"}, lambda x: x >= 12, 12),
    "a number": ({"type": "number"}, lambda x: True, 0),
    "a fraction": ({"type": "number"}, lambda x: x != int(x), None),
    "a list": ({"type": "array", "items": {"type": "integer"}}, lambda x: len(x) > 1, [0, 0]),
    "the first of an enum": ({"enum": ["b", "a"]}, lambda x: True, "b"),
    "a day": ({"type": "string", "format": "date"}, lambda x: True, "2000-01-01"),
    "a nullable": ({"anyOf": [{"type": "string"}, {"type": "null"}]}, lambda x: x is not None, ""),
    "an object": ({"type": "object", "properties": {"a": {}, "b": {}}}, lambda x: True, {}),
    "anything": (True, lambda x: True, None),
    "a tree": (LEAF, lambda x: isinstance(x, list), [0, 0]),
}


@pytest.mark.heavy
@pytest.mark.parametrize(("part", "wrong", "least"), SHRUNK.values(), ids=SHRUNK)
def test_counter_examples_are_small(
    part: Value, wrong: Callable[[Any], bool], least: Value
) -> None:
    more = {"y": {"type": "string"}, "z": {"type": "array"}}
    schema = tool(part, **{"$defs": {"n": LEAF}})
    schema["properties"] |= more
    found = smallest(arguments(schema), lambda made: wrong(made["x"]))
    assert found.keys() == {"x"}
    if least is not None:
        assert found["x"] == least
    elif isinstance(found["x"], str):
        assert len(found["x"]) == 61
    elif isinstance(found["x"], float):
        assert found["x"] in {0.5, 1.5}


def test_favoured_values_are_used_where_they_fit() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "kind": {"type": "string"},
            "year": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "free": {"type": "object"},
        },
        "required": ["kind", "year", "tags", "free"],
    }
    favoured: Any = {"kind": ["leap", 5], "year": [1789], "tags": [["u", "v"]], "": ["anywhere"]}
    made = drawn(arguments(schema, favoured=favoured), count=200)
    assert all(isinstance(one["kind"], str) for one in made)
    for name, value in (("kind", "leap"), ("year", 1789), ("tags", ["u", "v"])):
        share = sum(one[name] == value for one in made) / len(made)
        assert 0.05 < share < 0.9, name
    assert any(one["kind"] == "anywhere" for one in made)
    assert any("anywhere" in one["free"] for one in made)
    assert any(one["tags"] not in (["u", "v"], []) and "u" in one["tags"] for one in made)
    together = [one for one in made if one["kind"] == "leap" and one["year"] == 1789]
    assert len(together) >= len(made) * 0.1


def test_favoured_values_that_no_call_carries_are_left_out() -> None:
    odd: Any = {"x": ["\ud800", float("nan"), 10**2000, object()], "": [float("inf")]}
    for made in drawn(arguments(tool(True), favoured=odd)):
        check_plain(made)


def test_a_default_is_favoured() -> None:
    schema = tool({"type": "string", "default": "metric"})
    schema["properties"]["n"] = {"type": "integer"}
    made = drawn(arguments(schema))
    assert 3 < sum(one["x"] == "metric" for one in made) < len(made)


def test_edge_cases_are_built_in() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "n": {"type": "integer"},
            "s": {"type": "string"},
            "date": {"type": "string"},
        },
        "required": ["n", "s", "date"],
    }
    made = drawn(arguments(schema), count=1000)
    assert {0, 1, -1, 2**31} <= {one["n"] for one in made}
    texts = {one["s"] for one in made}
    assert {"", "é", " "} <= texts
    assert any(len(text) > 50 for text in texts)
    assert any(re.fullmatch(r"\d{4}-02-29", one["date"]) for one in made)


UNSATISFIABLE: dict[str, tuple[dict[str, Any], str]] = {
    "an empty enum": (tool({"enum": []}), "#/properties/x"),
    "crossed bounds": (tool({"type": "integer", "minimum": 3, "maximum": 2}), "#/properties/x"),
    "no integer between": (
        tool({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}),
        "#/properties/x",
    ),
    "crossed lengths": (tool({"type": "string", "minLength": 3, "maxLength": 2}), "3 characters"),
    "types at odds": (tool({"allOf": [{"type": "string"}, {"type": "integer"}]}), "types exclude"),
    "constants at odds": (tool({"allOf": [{"const": 1}, {"const": 2}]}), "enum"),
    "false": (tool(False), "`false`"),
    "required and forbidden": (
        {"properties": {}, "required": ["a"], "additionalProperties": False},
        "'a'",
    ),
    "no alternative": (tool({"anyOf": [False, {"enum": []}]}), "no alternative"),
    "too few different": (
        tool({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3}),
        "3 or more",
    ),
    "a list that cannot be filled": (tool({"type": "array", "items": False, "minItems": 1}), "1"),
    "more required than allowed": (tool(True, maxProperties=0), "allowed"),
    "without end": (
        tool({"$ref": "#/$defs/n"}, **{"$defs": {"n": {**NODE, "required": ["l"]}}}),
        "never come to an end",
    ),
    "a circle": (tool({"$ref": "#/$defs/n"}, **{"$defs": {"n": {"$ref": "#/$defs/n"}}}), "end"),
    "no object": ({"type": "array"}, "types exclude"),
    "exactly one of two that are alike": (
        tool({"type": "integer", "oneOf": [{"minimum": 1}, {"minimum": 1}]}),
        "200 tries",
    ),
    "a pattern at odds with a length": (
        tool({"type": "string", "pattern": "^abc$", "maxLength": 2}),
        "200 tries",
    ),
}


@pytest.mark.parametrize(("schema", "said"), UNSATISFIABLE.values(), ids=UNSATISFIABLE)
def test_what_has_no_values_is_said_to(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsatisfiableSchema, match=re.escape(said)):
        arguments(schema)


def test_an_optional_part_that_cannot_be_is_left_out() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"enum": []}, "b": {"type": "null"}}}
    assert {json.dumps(made) for made in drawn(arguments(schema))} == {"{}", '{"b": null}'}


UNSUPPORTED: dict[str, tuple[dict[str, Any], str]] = {
    "elsewhere": (tool({"$ref": "https://example.com/a.json"}), "example.com"),
    "an address inside": (tool({"$id": "https://example.com/b", "type": "string"}), "$id"),
    **{
        f"the keyword {keyword}": (tool({"anyOf": [{"type": "null"}, {keyword: rule}]}), said)
        for keyword, rule in {
            "not": {"type": "null"},
            "if": {"type": "null"},
            "contains": {"type": "null"},
            "patternProperties": {"^x": True},
            "propertyNames": {"maxLength": 3},
            "dependentRequired": {"a": ["b"]},
            "dependentSchemas": {"a": True},
            "unevaluatedProperties": False,
            "unevaluatedItems": False,
            "$anchor": "here",
        }.items()
        for said in [f"at #/properties/x/anyOf/1/{keyword}: `{keyword}` is not understood; allowed"]
    },
    "a recursion of its own kind": (
        tool({"$dynamicRef": "#/$defs/n"}, **{"$defs": {"n": {"type": "null"}}}),
        "`$dynamicRef` is not understood",
    ),
    "a reference by anchor": (
        tool({"$ref": "#here"}, **{"$defs": {"n": {"type": "null"}}}),
        "here",
    ),
    "two patterns at once": (
        tool({"type": "string", "pattern": "a", "allOf": [{"pattern": "b"}]}),
        "#/properties/x/pattern: 'a' and 'b' hold at once",
    ),
    "a pattern of other properties": (
        tool({"type": "string", "pattern": r"^\p{Greek}$"}),
        "#/properties/x/pattern",
    ),
    "a text without end": (tool({"type": "string", "minLength": 10**7}), "minLength"),
    "a list without end": (tool({"type": "array", "minItems": 10**7}), "minItems"),
    "no schema": (tool({"type": "float"}), "float"),
    "a list of an older draft": (tool({"items": [{"type": "string"}]}), "items"),
}


@pytest.mark.parametrize(("schema", "said"), UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_is_not_understood_is_named(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedSchema) as raised:
        arguments(schema)
    assert said in str(raised.value)


def test_alternatives_that_multiply_are_refused_and_not_waited_for() -> None:
    pair = [{"minLength": 1}, {"maxLength": 9}]
    with pytest.raises(UnsupportedSchema, match="combinations"):
        arguments(
            tool(
                {
                    "type": "string",
                    "allOf": [{"anyOf": [*pair, {"minLength": n}]} for n in range(30)],
                }
            )
        )


def test_strategies_have_short_texts() -> None:
    strategy: SearchStrategy[Any] = arguments(tool({"enum": ["a" * 1000] * 2}))
    assert len(repr(strategy)) < 100
