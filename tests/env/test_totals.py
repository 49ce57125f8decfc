"""Totals of a benchmark's published tables: over several modes, and as means of means."""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.env.made import scored
from toolhop_env.attempt import Attempt
from toolhop_env.benchmark import Benchmark, Grouping
from toolhop_env.benchmarks.relytoolbench.scorer import BENCHMARK as RELYTOOLBENCH
from toolhop_env.benchmarks.toolbehonest.scorer import BENCHMARK as TOOLBEHONEST
from toolhop_env.estimates import linear_total, totals
from toolhop_env.measures import Total
from toolhop_env.pairs.pair import Pair
from toolhop_env.pairs.totals import total_lines
from toolhop_env.score import Parts
from toolhop_env.summary import summarize
from toolhop_tools.benchmarks.relytoolbench.reader import group_of, kind_of

G1, G2 = "G1_instruction", "G2_category"
UNMATCHED = f"{G1}_with_unmatched_tools"


def of_sets(values: Mapping[str, Sequence[float | None]], **more: Any) -> list[Attempt]:
    """Rows of RelyToolBench: by set whether each passes; None where a judge is open."""
    return [
        scored(
            "relytoolbench",
            f"{name}-{number}",
            "finish",
            {"pass": None if one is None else (one, 1.0)},
            facets={"set": name, "group": group_of(name), "kind": kind_of(name)},
            **more,
        )
        for name, rows in values.items()
        for number, one in enumerate(rows)
    ]


def passes(*rows: Attempt) -> dict[str, float]:
    found = totals(RELYTOOLBENCH, rows)
    return {name: one["pass"].value for name, one in found.items() if one["pass"] is not None}


def of_level(level: int, *values: Parts | None, first: int = 0) -> list[Attempt]:
    """Unsolvable twins of ToolBeHonest with the paper's score of each."""
    return [
        scored("toolbehonest", f"os-{number}-unsolvable", f"level-{level}", {"score": one})
        for number, one in enumerate(values, first)
    ]


def test_each_set_has_the_same_weight_whatever_its_size() -> None:
    rows = of_sets({G1: [1, 1, 1, 0], UNMATCHED: [0], G2: [1]})
    assert passes(*rows) == pytest.approx(
        {"solvable": 0.875, "unmatched": 0, G1: 0.375, G2: 1, "all sets": (0.75 + 0 + 1) / 3}
    )


def test_a_set_that_waits_for_a_judge_leaves_no_total_over_the_others() -> None:
    rows = of_sets({G1: [None, None], UNMATCHED: [1], G2: [1]})
    assert passes(*rows) == {"unmatched": 1, G2: 1}


def test_level_3_has_two_values_in_the_overall_of_all_levels() -> None:
    rows = of_level(1, (1, 1), (0, 1)) + of_level(2, (0.5, 1), (0.5, 1))
    rows += of_level(3, (1.5, 2), (0.5, 2))
    found = totals(TOOLBEHONEST, rows)["overall"]["score"]
    assert found is not None
    assert found.value == pytest.approx((1 + 0 + 0.5 + 0.5 + 1.5 + 0.5) / 8)


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_without_one_of_its_levels_there_is_no_overall(missing: int) -> None:
    rows = [one for level in (1, 2, 3) if level != missing for one in of_level(level, (1, 1))]
    assert totals(TOOLBEHONEST, rows) == {}
    assert totals(TOOLBEHONEST, rows + of_level(missing, None)) == {}
    assert totals(TOOLBEHONEST, rows + of_level(missing, (1, 1)))["overall"]["score"] is not None


def test_every_modes_summary_has_the_totals_over_all_modes() -> None:
    rows = [one for level in (1, 2, 3) for one in of_level(level, (1, 1))]
    found = summarize([*rows, *(replace(one, agent="other") for one in rows[:2])])
    assert [(one.group.agent, one.group.mode, list(one.totals)) for one in found] == [
        ("p", "level-1", ["overall"]), ("p", "level-2", ["overall"]), ("p", "level-3", ["overall"]),
        ("other", "level-1", []), ("other", "level-2", []),
    ]  # fmt: skip


def test_the_error_of_a_mean_over_sets_is_that_of_independent_sets() -> None:
    draw = random.Random(3)
    values = {G1: [float(draw.random() < 0.7) for _ in range(60)],
              UNMATCHED: [float(draw.random() < 0.4) for _ in range(200)]}  # fmt: skip
    found = totals(RELYTOOLBENCH, of_sets(values))[G1]["pass"]
    assert found is not None
    assert found.stderr is not None
    errors = [statistics.stdev(rows) ** 2 / len(rows) for rows in values.values()]
    assert found.stderr == pytest.approx((sum(errors) / 4) ** 0.5, rel=0.02)


def test_a_difference_of_totals_is_paired_by_item() -> None:
    draw = random.Random(5)
    before = {G1: [float(draw.random() < 0.5) for _ in range(80)], G2: [1.0] * 20}
    after = {G1: [1.0, *before[G1][1:-1], 1.0], G2: [1.0] * 19 + [0.0]}
    pairs = [
        Pair(one.key, one, other)
        for one, other in zip(of_sets(before), of_sets(after, agent="q"), strict=True)
    ]
    found = {one.total.name: one for one in total_lines(RELYTOOLBENCH, pairs, confidence=0.95)}
    lines = found["all sets"]
    apart = linear_total(RELYTOOLBENCH, RELYTOOLBENCH.grouping.totals[-1], of_sets(after))
    assert lines.after == next(one.value for name, one in apart if name == "pass" and one)
    assert lines.difference == pytest.approx(lines.after - lines.before)
    assert lines.low is not None
    assert lines.high is not None
    assert lines.low < lines.difference < lines.high
    # Unpaired, the sets' own spread alone would be wider than this.
    alone = totals(RELYTOOLBENCH, of_sets(before))["all sets"]["pass"]
    assert alone is not None
    assert lines.high - lines.low < 4 * (alone.stderr or 0)
    same = total_lines(RELYTOOLBENCH, [Pair(one.key, one, one) for one in of_sets(before)],
                       confidence=0.95)  # fmt: skip
    assert {(one.difference, one.low, one.high) for one in same} == {(0.0, None, None)}


@pytest.mark.parametrize(
    "total", [Total("t", "A total.", ("gone",)), Total("t", "A total.", ("pass",), modes=("x",))]
)
def test_a_total_of_what_a_benchmark_has_not_is_refused(total: Total) -> None:
    with pytest.raises(ValueError, match="for its total 't'"):
        replace(RELYTOOLBENCH, grouping=Grouping(totals=(total,)))
    assert isinstance(RELYTOOLBENCH, Benchmark)
