"""Candidates and random arguments: for any schema, source and question, valid and repeatable."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolhop_tools.certifying import TEXT, item, made, tasks
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.audit import randomised
from toolhop_tools.certify.candidates import Candidate, Task, at_hand, distinct, filled
from toolhop_tools.certify.pools import read_source
from toolhop_tools.certify.rivals import rivals
from toolhop_tools.model import Hop

SOURCE = """
LIMIT = 5
TABLE = {"ada lovelace": 1, "half \\ud800": 2, 10 ** 3: 3}
def f(a, b=2, *, c=None):
    '''Like f("Ada Lovelace").'''
    if a in TABLE or b == 7 or c in ("x", "y"):
        return TABLE.get(a)
"""
QUESTION = "Who is the second mother of Ada Lovelace and Bo Lee on 3 May 1999, 'x', 12?"
LEAVES: Any = st.one_of(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer", "minimum": 3, "maximum": 9},
            {"type": "number", "default": 1.5},
            {"type": "boolean"},
            {"type": ["integer", "array"], "items": {"type": "integer"}},
            {"type": "string", "enum": ["mother", "father"]},
            {"type": "string", "format": "date"},
            {"const": 4},
            {"enum": [None, 1, "x"]},
            {"$ref": "#/$defs/name"},
            {"$ref": "#/$defs/loop"},
            {"type": "array"},
            {"type": "null"},
            {"type": "object"},
            {},
            True,
        ]
    )
)
SCHEMAS: Any = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(
            lambda items, least: {"type": "array", "items": items, "minItems": least},
            inner,
            st.integers(0, 3),
        ),
        st.builds(
            lambda parts, needed: {
                "type": "object",
                "properties": parts,
                "required": sorted(parts)[:needed],
            },
            st.dictionaries(st.sampled_from("pqr"), inner, max_size=3),
            st.integers(0, 2),
        ),
        st.builds(lambda one, other: {"anyOf": [one, other]}, inner, inner),
    ),
    max_leaves=4,
)
DEFS: dict[str, JSON] = {
    "name": {"type": "string"},
    "loop": {"type": "array", "items": {"$ref": "#/$defs/loop"}},
}


def task(hop: Hop) -> Task:
    return tasks(item(hop))[0]


def made_of(properties: dict[str, Any], needed: int) -> Task:
    hop = made(SOURCE, QUESTION, "Ann", properties, required=sorted(properties)[:needed])
    schema = {**hop.tool.schema.parameters, "$defs": DEFS}
    tool = replace(hop.tool, schema=replace(hop.tool.schema, parameters=schema))
    return task(replace(hop, tool=tool))


def some(one: Task) -> list[Candidate]:
    streams = [islice(filled(one), 40), at_hand(one)]
    return [each for each in distinct(chain.from_iterable(streams)) if one.accepts(each.arguments)]


@pytest.mark.heavy
@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), SCHEMAS, min_size=1), st.integers(0, 3))
def test_calls_fit_the_schema_and_come_in_one_order(parts: dict[str, Any], needed: int) -> None:
    first, again = made_of(parts, needed), made_of(parts, needed)
    calls = some(first)
    assert [one.arguments for one in calls] == [one.arguments for one in some(again)]
    reference = jsonschema.Draft202012Validator(dict(first.schema))
    for one in calls[:20]:
        if first.accepts(one.arguments):
            assert reference.is_valid(one.arguments)
            near = rivals(first, one.arguments)
            assert all(
                reference.is_valid(each) and repr(each) != repr(one.arguments) for each in near
            )
            drawn = randomised(first, one.arguments, 5, "seed")
            assert drawn == randomised(first, one.arguments, 5, "seed")
            assert all(first.accepts(each) and repr(each) != repr(one.arguments) for each in drawn)


def test_costs_do_not_fall() -> None:
    costs = [one.cost for one in filled(made_of({"a": TEXT, "b": {"type": "integer"}}, 1))]
    assert costs == sorted(costs)
    assert len(costs) > 10


def test_what_a_source_holds() -> None:
    source = read_source(made(SOURCE, "?", "x").tool.program)
    assert source.needed == ("a",)
    assert {"ada lovelace", "x", "y"} <= {*source.texts}
    assert not any("\ud800" in text for text in source.texts)


def test_random_arguments_are_others() -> None:
    properties: dict[str, JSON] = {"a": TEXT, "b": {"type": "integer"}, "c": {"type": "boolean"}}
    one = made_of(properties, 3)
    arguments: dict[str, JSON] = {"a": "Ada Lovelace", "b": 1999, "c": True}
    drawn = randomised(one, arguments, 20, "s")
    assert len(drawn) == 20
    assert all(each["a"] != "Ada Lovelace" and each["b"] != 1999 for each in drawn)
    assert all(each["c"] for each in drawn)
