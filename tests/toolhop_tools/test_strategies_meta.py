"""Schemas are generated, strategies compiled from them, and what those make is judged."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.toolhop_tools.schemas import TOOLS, drawn, reference, simulator
from toolhop_env.validation import check_plain
from toolhop_env.verdicts import Call, Rejected
from toolhop_tools.strategies.errors import UnsatisfiableSchema, UnsupportedSchema
from toolhop_tools.strategies.invalid import near_misses
from toolhop_tools.strategies.valid import arguments

META = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
FAVOURED: Any = {"a": ["abc", 5, {"b": 1}], "": [2.5, None, "x1"]}


def clash(fault: UnsupportedSchema) -> str:
    """Two rules that are not merged: all else that these schemas have is understood."""
    assert "hold at once" in fault.reason
    return "none"


def test_what_is_made_of_any_schema_is_valid() -> None:
    ends: Counter[str] = Counter()

    @META
    @given(TOOLS, st.data())
    def judge(schema: dict[str, Any], data: st.DataObject) -> None:
        try:
            strategy = arguments(schema, favoured=FAVOURED)
        except UnsatisfiableSchema:
            ends["none"] += 1
            return
        except UnsupportedSchema as fault:
            ends[clash(fault)] += 1
            return
        made = data.draw(strategy)
        ends["made"] += 1
        check_plain(made)
        reference(schema).validate(made)
        assert isinstance(simulator(schema).check("f", json.dumps(made)), Call)

    judge()
    assert ends["made"] >= 5, ends


def test_what_nearly_fits_any_schema_has_the_one_fault_meant() -> None:
    ends: Counter[str] = Counter()

    @META
    @given(TOOLS, st.data())
    def judge(schema: dict[str, Any], data: st.DataObject) -> None:
        try:
            strategy = near_misses(schema, favoured=FAVOURED)
        except UnsatisfiableSchema:
            ends["none"] += 1
            return
        except UnsupportedSchema as fault:
            ends[clash(fault)] += 1
            return
        if strategy.is_empty:
            ends["faultless"] += 1
            return
        miss = data.draw(strategy)
        ends[miss.fault] += 1
        check_plain(miss.arguments)
        verdict = simulator(schema).check("f", json.dumps(miss.arguments))
        assert isinstance(verdict, Rejected)
        blamed = {
            (*error.absolute_path,) for error in reference(schema).iter_errors(miss.arguments)
        }
        for path in blamed:
            shorter = min(len(path), len(miss.path))
            assert path[:shorter] == miss.path[:shorter]

    judge()
    assert sum(ends.values()) - ends["none"] >= 5, ends
    assert len(ends) >= 3, ends


def test_a_schema_without_values_is_refused_by_both() -> None:
    @META
    @given(TOOLS)
    def judge(schema: dict[str, Any]) -> None:
        try:
            arguments(schema)
        except UnsatisfiableSchema:
            assert schema_has_none(schema)
        except UnsupportedSchema as fault:
            clash(fault)

    judge()


def schema_has_none(schema: dict[str, Any]) -> bool:
    """No small arguments fit either: the refusal is not an excuse."""
    inner = st.recursive(
        st.sampled_from([None, True, 0, 1, 2, 3, 4, 2.5, -1, "", "a", "aa", "00", "2024-01-01"]),
        lambda part: st.lists(part, max_size=2) | st.dictionaries(st.sampled_from("abcvx"), part),
        max_leaves=3,
    )
    tries = drawn(st.dictionaries(st.sampled_from("abcd"), inner, max_size=3), count=30)
    return not any(simulator(schema).fits("f", made) for made in tries)
