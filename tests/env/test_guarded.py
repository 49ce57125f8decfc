"""A benchmark of another package that breaks: one fault with its name, and no odd figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.env.made import finished
from toolhop_env.benchmark import Benchmark
from toolhop_env.guarded import BenchmarkFault, guarded
from toolhop_env.measures import Measure, Unit
from toolhop_env.questions import SimilarityQuestion

MEASURES = (
    Measure("paid", "It is paid.", binary=True, leads=True),
    Measure("points", "Points.", unit=Unit.POINTS),
)
TRACE = finished()
GOOD = {"paid": (1, 1), "points": (2.5, 2)}


def benchmark(**changes: Any) -> Benchmark:
    shop = Benchmark("shop", "1", ("buy",), MEASURES, lambda item: {}, lambda trace, answers: GOOD)
    for name, value in changes.items():
        groups = [one for one in ("presentation", "judging", "grouping")
                  if hasattr(getattr(shop, one), name)]  # fmt: skip
        changed = {group: replace(getattr(shop, group), **{name: value}) for group in groups}
        shop = replace(shop, **(changed or {name: value}))
    return shop


def raising(*_: object) -> Any:
    raise KeyError("price")


def test_good_values_pass_as_numbers() -> None:
    found = guarded(benchmark()).score(TRACE, {})
    assert found == {"paid": (1.0, 1.0), "points": (2.5, 2.0)}
    none = {"paid": None, "points": (0.0, 0.0)}
    assert guarded(benchmark(score=lambda t, a: none)).score(TRACE, {}) == none


@pytest.mark.parametrize(
    "values",
    [
        7,
        {},
        {"paid": (1, 1)},
        {**GOOD, "paid": "yes"},
        {**GOOD, "paid": 1.0},
        {**GOOD, "paid": (2, 1)},
        {**GOOD, "paid": (1, 1, 1)},
        {**GOOD, "points": (math.nan, 1)},
        {**GOOD, "points": (1, math.inf)},
        {**GOOD, "points": (1, -1)},
        {**GOOD, "points": ("1", 1)},
    ],
)
def test_values_that_make_no_figure_are_the_benchmarks_fault(values: object) -> None:
    with pytest.raises(BenchmarkFault, match=r"(?s)'shop'.*fix:"):
        guarded(benchmark(score=lambda trace, answers: values)).score(TRACE, {})


CALLS: dict[str, Callable[[Benchmark], object]] = {
    "score": lambda one: one.score(TRACE, {}),
    "questions": lambda one: one.judging.questions(TRACE),
    "milestones": lambda one: one.presentation.milestones(TRACE),
    "facets": lambda one: one.grouping.facets({}),
    "expected": lambda one: one.presentation.expected({}),
    "given": lambda one: one.presentation.given(TRACE),
    "explain_gap": lambda one: one.presentation.explain_gap(TRACE),
}


@pytest.mark.parametrize("part", CALLS)
def test_what_a_function_raises_is_reported_with_its_name(part: str) -> None:
    with pytest.raises(BenchmarkFault, match=f"'shop': {part} raised KeyError"):
        CALLS[part](guarded(benchmark(**{part: raising})))


@pytest.mark.parametrize("part", [part for part in CALLS if part != "score"])
def test_what_a_function_may_not_give_is_reported(part: str) -> None:
    with pytest.raises(BenchmarkFault, match=f"'shop': {part} gave"):
        CALLS[part](guarded(benchmark(**{part: lambda _: 7})))


def test_a_mean_of_measures_needs_no_value_of_its_own() -> None:
    measures = (*MEASURES, Measure("both", "The mean.", mean_of=("paid", "points")))
    assert guarded(benchmark(measures=measures)).score(TRACE, {}) == GOOD


def test_a_gold_that_is_not_json_is_reported_and_lists_pass_as_numbers() -> None:
    anything: Any = None
    with pytest.raises(BenchmarkFault, match=r"'shop': gold gave \{1\}; expected JSON"):
        guarded(benchmark(gold=lambda item: {1})).gold(anything)
    lists = guarded(benchmark(score=lambda trace, answers: {"paid": [1, 1], "points": None}))
    assert lists.score(TRACE, {}) == {"paid": (1.0, 1.0), "points": None}


def test_two_questions_have_two_ids() -> None:
    twice = [SimilarityQuestion("alike", "a", "b"), SimilarityQuestion("alike", "a", "c")]
    with pytest.raises(BenchmarkFault, match="one id twice"):
        guarded(benchmark(questions=lambda trace: twice)).judging.questions(TRACE)


@pytest.mark.parametrize(
    "changes",
    [{"modes": ()}, {"measures": (*MEASURES, MEASURES[1])},
     {"measures": (*MEASURES, Measure("turns", "Taken by those of conduct."))},
     {"measures": (*MEASURES, Measure("all", "A mean.", mean_of=("paid", "gone")))}],
)  # fmt: skip
def test_a_benchmark_that_tables_cannot_show_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="'shop' has"):
        benchmark(**changes)
