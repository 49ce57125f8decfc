"""Near misses: invalid, by exactly the fault meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.toolhop_tools.schemas import drawn, reference, simulator, smallest
from toolhop_env.validation import check_plain
from toolhop_env.verdicts import Rejected
from toolhop_tools.strategies.errors import UnsatisfiableSchema
from toolhop_tools.strategies.invalid import NearMiss, near_misses

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "year": {"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 2},
        "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "unit": {"type": "string", "enum": ["m", "km"]},
        "fixed": {"const": "v1"},
        "code": {"type": "string", "pattern": "^[a-z]+$"},
        "text": {"type": "string", "minLength": 2, "maxLength": 4},
        "tags": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 3,
            "uniqueItems": True,
        },
        "place": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
            "required": ["lat"],
            "additionalProperties": False,
        },
        "map": {
            "type": "object",
            "additionalProperties": {"type": "null"},
            "minProperties": 1,
            "maxProperties": 2,
        },
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "one": {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]},
        "rows": {"type": "array", "items": {"type": "object", "required": ["k"]}},
    },
    "required": ["year"],
}


def blames(miss: NearMiss, schema: dict[str, Any]) -> bool:
    """The reference finds fault where it was put, with the keyword meant, and nowhere else."""
    holder = ("required", "additionalProperties")
    place = miss.path[:-1] if miss.fault in holder else miss.path
    found = list(reference(schema).iter_errors(miss.arguments))
    if any((*error.absolute_path,) != place for error in found):
        return False
    keywords = {error.validator for error in found}
    allowed = {miss.fault}
    if miss.fault == "type":
        allowed |= {"enum"}
    return miss.fault in keywords and keywords <= allowed


CLOSED = {**SCHEMA, "additionalProperties": False}


def test_every_kind_of_fault_is_made_and_is_the_one_meant() -> None:
    seen = set()
    for miss in drawn(near_misses(CLOSED), count=250):
        check_plain(miss.arguments)
        assert blames(miss, CLOSED), miss
        assert isinstance(simulator(CLOSED).check("f", json.dumps(miss.arguments)), Rejected)
        assert miss.parameter == (miss.path[0] if miss.path else "")
        seen.add(miss.fault)
    assert len(seen) >= 12


def test_a_silent_schema_is_closed_at_the_top() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": True}}
    for miss in drawn(near_misses(schema)):
        assert miss.fault == "additionalProperties"
        assert miss.path == (miss.parameter,)
        assert reference(schema).is_valid(miss.arguments)
        assert not simulator(schema).fits("f", miss.arguments)


def test_what_takes_anything_has_no_faults() -> None:
    schema: dict[str, Any] = {"type": "object", "additionalProperties": True}
    assert near_misses(schema) is st.nothing()


def test_what_nothing_fits_is_said_to() -> None:
    with pytest.raises(UnsatisfiableSchema):
        near_misses({"properties": {"a": False}, "required": ["a"]})


def test_a_format_is_no_fault() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"format": "date"}}, "additionalProperties": True}
    assert near_misses(schema).is_empty


SHRUNK = {
    "required": {},
    "additionalProperties": {"a": 0, "x": "a"},
    "type": {"a": ""},
    "minimum": {"a": -1},
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", SHRUNK, ids=str)
def test_near_misses_shrink(kind: str) -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"type": "string"}},
        "required": ["a"],
    }
    found = smallest(near_misses(schema), lambda miss: miss.fault is kind)
    assert found.arguments == SHRUNK[kind]


def test_favoured_values_are_tried_as_faults() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"enum": ["m", "km"]}}, "required": ["a"]}
    made = drawn(near_misses(schema, favoured={"a": ["mile"]}), count=100)
    assert any(miss.arguments["a"] == "mile" for miss in made if "a" in miss.arguments)


def test_faults_of_a_recursive_schema_end() -> None:
    schema: dict[str, Any] = {
        "properties": {"n": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}},
    }
    depths = {len(miss.path) for miss in drawn(near_misses(schema), count=100)}
    assert {1, 2} <= depths
