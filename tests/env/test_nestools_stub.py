"""NesTools by calls: made-up results, and arguments against the gold's resolved ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.env.made import called, finished
from toolhop_env.benchmarks.nestools.scorer import BENCHMARK as NESTOOLS
from toolhop_env.benchmarks.nestools.scorer import CALLS, score
from toolhop_env.benchmarks.nestools.stub import result
from toolhop_env.trace import Called, Trace
from toolhop_env.verdicts import Call
from toolhop_sandbox.outcome import JSON

TYPES = {"a": "str", "b": "int", "c": "float", "d": "bool", "e": "list", "f": "dict", "g": "date"}
GOLD: dict[str, Any] = {
    "calls": [
        {"name": "find", "id": 1, "parameters": {"city": "Oslo"},
         "responses": {"id": "API_call_0", "open": "API_call_1"}},
        {"name": "book", "id": 2, "parameters": {"ids": ["API_call_0"], "nights": 3},
         "responses": {"code": "API_call_2"}},
        {"name": "pay", "id": 3, "parameters": {"code": "API_call_2", "open": "API_call_1"},
         "responses": {}},
    ],
    "types": {"1": {"id": "int", "open": "bool"}, "2": {"code": "str"}, "3": {}},
}  # fmt: skip
NUMBERS = {"find": 1, "book": 2, "pay": 3}


def test_a_result_has_a_value_of_each_type() -> None:
    found = result(7, TYPES, {"x": 1})
    kinds = {name: type(value) for name, value in found.items()}
    assert kinds == {"a": str, "b": int, "c": float, "d": bool, "e": list, "f": dict, "g": str}


@given(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5), max_size=3))
def test_the_same_call_gives_the_same_and_another_one_something_else(
    arguments: dict[str, JSON],
) -> None:
    assert result(7, TYPES, arguments) == result(7, TYPES, dict(reversed(arguments.items())))
    assert result(7, TYPES, arguments)["a"] != result(8, TYPES, arguments)["a"]
    assert result(7, TYPES, arguments)["a"] != result(7, TYPES, {**arguments, "more": 1})["a"]


def test_calls_that_mean_the_same_give_the_same() -> None:
    assert result(7, TYPES, {"x": " oslo", "n": 2.0}) == result(7, TYPES, {"n": 2, "x": "Oslo"})


def run(*calls: tuple[str, Mapping[str, JSON]]) -> Trace:
    """A run of calls, each with what the stub gives."""
    made: list[Called] = []
    for name, arguments in calls:
        number = NUMBERS[name]
        given_ = result(number, GOLD["types"][str(number)], arguments)
        made.append(replace(called(name, given_), verdict=Call(name, dict(arguments))))
    return finished(*made, text="done", gold=GOLD, mode=CALLS, benchmark="nestools")


def counted(*calls: tuple[str, Mapping[str, JSON]]) -> dict[str, tuple[float, float] | None]:
    values = score(run(*calls), {})
    return {
        name: values[f"strict_{name}"] for name in ("tree", "param_f1", "nested_f1", "order_f1")
    }


ID = result(1, {"id": "int", "open": "bool"}, {"city": "Oslo"})
CODE = result(2, {"code": "str"}, {"ids": [ID["id"]], "nights": 3})["code"]
Made = tuple[str, Mapping[str, JSON]]
FIND: Made = ("find", {"city": "Oslo"})
BOOK: Made = ("book", {"ids": [ID["id"]], "nights": 3})
PAY: Made = ("pay", {"code": CODE, "open": ID["open"]})


def test_a_run_with_the_golds_values_is_right() -> None:
    assert counted(FIND, BOOK, PAY) == {
        "tree": (1, 1), "param_f1": (10, 10), "nested_f1": (6, 6), "order_f1": (6, 6),
    }  # fmt: skip


def test_a_placeholder_in_the_place_of_a_value_is_wrong() -> None:
    found = counted(FIND, ("book", {"ids": ["API_call_0"], "nights": 3}), PAY)
    assert found["tree"] == (0, 1)
    assert found["nested_f1"] == (4, 5), "a text that no call returned is no reference"


def test_a_wrong_early_value_makes_what_rests_on_it_wrong() -> None:
    other = result(1, {"id": "int", "open": "bool"}, {"city": "Bergen"})
    code = result(2, {"code": "str"}, {"ids": [other["id"]], "nights": 3})["code"]
    found = counted(
        ("find", {"city": "Bergen"}), ("book", {"ids": [other["id"]], "nights": 3}),
        ("pay", {"code": code, "open": "no"}),
    )  # fmt: skip
    # Two values were taken from results, and none is the gold's; the nights are right.
    assert found == {
        "tree": (0, 1), "param_f1": (2, 10), "nested_f1": (0, 5), "order_f1": (6, 6),
    }  # fmt: skip


@pytest.mark.parametrize("calls", [(), (BOOK,), (BOOK, FIND, PAY), (FIND, BOOK, PAY, PAY)])
def test_too_few_calls_or_too_many_or_in_another_order_are_no_tree(
    calls: tuple[Made, ...],
) -> None:
    assert counted(*calls)["tree"] == (0, 1)


def test_no_official_figure_is_made_of_it_and_the_calls_are_the_answer() -> None:
    trace = run(FIND, BOOK)
    values = score(trace, {})
    official = [one.name for one in NESTOOLS.measures if one.scorer == "official"]
    assert {values.get(name) for name in official} == {None}
    given_ = NESTOOLS.given(trace)
    assert given_ is not None
    assert json.loads(given_)[0] == {"find": {"city": "Oslo"}}
