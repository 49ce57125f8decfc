from __future__ import annotations

import json
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from tests.env.made import object_schema, validator
from toolhop_env.verdicts import Call, ErrorCode
from toolhop_tools.declared import undeclared

SCALARS: Any = st.sampled_from([None, True, False, 0, 1, 5, 5.0, 2.5, -1, "", "a", "abc", "5"])
INSTANCES: Any = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=5,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
LEAF_SCHEMAS: Any = st.one_of(
    st.booleans(),
    st.builds(lambda t: {"type": t}, TYPES),
    st.builds(lambda t: {"type": t}, st.lists(TYPES, min_size=1, max_size=2, unique=True)),
    st.builds(lambda v: {"enum": v}, st.lists(SCALARS, min_size=1, max_size=3)),
    st.builds(lambda v: {"const": v}, SCALARS),
    st.builds(lambda n: {"minimum": n, "maximum": n + 4}, st.integers(-2, 3)),
    st.builds(lambda n: {"minLength": n, "maxItems": n}, st.integers(0, 2)),
)
PART_SCHEMAS: Any = st.recursive(
    LEAF_SCHEMAS,
    lambda inner: st.one_of(
        st.builds(lambda s: {"type": "array", "items": s}, inner),
        st.builds(
            lambda s, r, a: {"properties": {"a": s}, "required": r, "additionalProperties": a},
            inner,
            st.sampled_from([[], ["a"], ["b"]]),
            inner,
        ),
        st.builds(
            lambda k, s: {k: s},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.builds(lambda s: {"not": s}, inner),
    ),
    max_leaves=4,
)
TOOL_SCHEMAS: Any = st.builds(
    lambda properties, required, more: {
        "type": "object",
        "properties": properties,
        "required": required,
        **more,
    },
    st.dictionaries(st.sampled_from("abc"), PART_SCHEMAS, max_size=3),
    st.lists(st.sampled_from("abc"), max_size=2, unique=True),
    st.sampled_from([{}, {"additionalProperties": False}, {"additionalProperties": True}]),
)


@given(TOOL_SCHEMAS, st.dictionaries(st.sampled_from("abcd"), INSTANCES, max_size=3))
def test_the_verdict_is_the_references_plus_closed_names(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    reference = jsonschema.Draft202012Validator(schema).is_valid(arguments)
    closed = not undeclared(schema, arguments)
    problems = validator(schema).problems("f", arguments)
    assert (not problems) is (reference and closed)
    assert validator(schema).fits("f", arguments) is (not problems)
    assert isinstance(validator(schema).check("f", json.dumps(arguments)), Call) is (not problems)


def test_the_caller_of_problems_may_hand_over_anything() -> None:
    tools = validator(object_schema(a={"type": "array", "items": {"type": "string"}}))
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    assert [p.code for p in tools.problems("f", {"a": deep})] == [ErrorCode.SCHEMA_VIOLATION]
    assert [p.code for p in tools.problems("f", {"a": "\ud800"})] == [ErrorCode.SCHEMA_VIOLATION]
    assert not tools.fits("f", {"a": deep})
