"""Strategies of schemas themselves, and what the tests of strategies share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from toolhop_env.validation import Validator
from toolhop_tools.model import ToolSchema
from toolhop_tools.strategies.schema import Value

KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
SMALL: Any = st.sampled_from([None, True, False, 0, 1, 5.0, 2.5, -1, "", "a", "abc", "5", [], {}])


def _bounds(low: int, width: int) -> dict[str, Any]:
    return {"type": "number", "minimum": low, "exclusiveMaximum": low + width}


LEAVES: Any = st.one_of(
    st.just(True),
    st.builds(lambda kind: {"type": kind}, KINDS),
    st.builds(lambda kinds: {"type": kinds}, st.lists(KINDS, min_size=1, max_size=3, unique=True)),
    st.builds(lambda values: {"enum": values}, st.lists(SMALL, min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, SMALL),
    st.builds(_bounds, st.integers(-3, 3), st.integers(1, 4)),
    st.builds(
        lambda n, m: {"type": "integer", "multipleOf": m, "minimum": n},
        st.integers(-5, 5),
        st.sampled_from([1, 2, 3, 0.5]),
    ),
    st.builds(
        lambda low, width: {"type": "string", "minLength": low, "maxLength": low + width},
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    st.sampled_from(
        [
            {"type": "string", "pattern": "^[a-c]+$"},
            {"type": "string", "pattern": r"\d{2}", "maxLength": 6},
            {"type": "string", "format": "date"},
            {"type": ["string", "null"], "format": "ipv4"},
        ]
    ),
)


def _inner(schemas: SearchStrategy[Any]) -> SearchStrategy[Any]:
    names = st.lists(st.sampled_from("abc"), max_size=2, unique=True)
    properties = st.dictionaries(st.sampled_from("abc"), schemas, max_size=3)
    return st.one_of(
        st.builds(
            lambda s, low, more, unique: {
                "type": "array",
                "items": s,
                "minItems": low,
                "maxItems": low + more,
                "uniqueItems": unique,
            },
            schemas,
            st.integers(0, 2),
            st.integers(0, 2),
            st.booleans(),
        ),
        st.builds(
            lambda front, rest: {"type": "array", "prefixItems": front, "items": rest},
            st.lists(schemas, min_size=1, max_size=2),
            schemas | st.just(False),
        ),
        st.builds(
            lambda p, r, a: {
                "type": "object",
                "properties": p,
                "required": r,
                "additionalProperties": a,
            },
            properties,
            names,
            st.booleans() | schemas,
        ),
        st.builds(
            lambda p, low, s: {"properties": p, "minProperties": low, "additionalProperties": s},
            properties,
            st.integers(0, 2),
            schemas,
        ),
        st.builds(
            lambda keyword, parts: {keyword: parts},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(schemas, min_size=1, max_size=3),
        ),
        st.builds(lambda a, b: {**a, "anyOf": [b, {"type": "string"}]}, _objects(schemas), schemas),
        st.just({"$ref": "#/$defs/tree"}),
    )


def _objects(schemas: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    return schemas.filter(lambda schema: isinstance(schema, dict))


PARTS: SearchStrategy[Any] = st.recursive(LEAVES, _inner, max_leaves=4)
TREE = {
    "type": "object",
    "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/tree"}},
    "required": ["v"],
    "additionalProperties": False,
}
TOOLS: SearchStrategy[dict[str, Any]] = st.builds(
    lambda properties, required, more: {
        "type": "object",
        "properties": properties,
        "required": required,
        "$defs": {"tree": TREE},
        **more,
    },
    st.dictionaries(st.sampled_from("abc"), PARTS, max_size=3),
    st.lists(st.sampled_from("abcd"), max_size=2, unique=True),
    st.sampled_from(
        [
            {},
            {"additionalProperties": False},
            {"additionalProperties": True},
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"maxProperties": 2},
        ]
    ),
)


def simulator(schema: dict[str, Any]) -> Validator:
    """The validator of calls, with one tool ``f``."""
    return Validator([ToolSchema("f", "", schema)])


def reference(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    """The reference implementation, asserting the formats it can."""
    return jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )


def drawn(strategy: SearchStrategy[Any], *, count: int = 30) -> list[Any]:
    """About that many values; fails where there are none."""
    seen: list[Any] = []

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Value) -> None:
        seen.append(value)

    collect()
    assert seen
    return seen


def smallest(strategy: SearchStrategy[Any], wrong: Callable[[Any], bool]) -> Value:
    """The counter-example that shrinking ends at."""
    chosen = settings(max_examples=150, database=None, deadline=None, derandomize=True)
    return find(strategy, wrong, settings=chosen)
