"""What an ablation says first: its result, in two sentences."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from tests.agents.test_ablate_effect import FAILED, FORKED, INDEPENDENT, errored, one
from toolhop_agents.ablate.design import Ablation
from toolhop_agents.ablate.plain import to_json
from toolhop_agents.ablate.result import result
from toolhop_agents.ablate.table import print_result
from toolhop_env.attempt import Attempt


def said(ablation: Ablation, *, full: bool = False, **arms: list[Attempt]) -> list[str]:
    console = Console(width=1000, file=StringIO(), record=True)
    played = {name.replace("_", "-"): attempts for name, attempts in arms.items()}
    print_result(console, ablation, result(ablation, played), most=3, full=full)
    return console.export_text().splitlines()


def test_a_clear_difference_and_one_that_may_be_chance() -> None:
    base = [one(n, True, FAILED) for n in range(20)]
    forks = [one(n, n < 4, FAILED) for n in range(20)]
    (first, *_) = said(FORKED, detailed=base, detailed_then_minimal=forks)
    assert first == (
        "Feedback detailed → minimal: strict goes from 100.0 to 20.0 per cent, a difference of "
        "-80.0 points (95 % interval -91.9 .. -51.0), over 20 of 20 pairs of episodes with a "
        "failed call, forked under detailed. Chance alone is an unlikely cause (p < 0.0001, "
        "McNemar exact)."
    )
    some = [one(n, n != 1, FAILED) for n in range(20)]
    (first, *_) = said(FORKED, detailed=base, detailed_then_minimal=some)
    assert "Chance alone can explain it (p = 1.0000, McNemar exact); with so many pairs" in first


def test_where_no_call_failed_all_episodes_are_compared() -> None:
    (first, *_) = said(FORKED, detailed=[one(n, True) for n in range(9)], detailed_then_minimal=[])
    assert "strict stays at 100.0 per cent, a difference of +0.0 points" in first
    assert "over 9 of 9 pairs of all episodes" in first


def test_lost_pairs_are_named_with_what_they_could_change_and_leave_no_verdict() -> None:
    forks = [one(n, True, FAILED) for n in range(43)]
    for gone, planned, wanted in (
        (40, 43, "over 3 of 43 pairs of episodes with a failed call, forked under detailed. No "
                 "verdict: 40 of 43 pairs are lost"),
        (3, 43, "over 40 of 43 pairs of episodes with a failed call, forked under detailed. "
                "Chance alone can explain it"),
        (0, 100, "over 43 of 100 pairs of episodes with a failed call, forked under detailed. No "
                 "verdict: 57 of 100 pairs are lost"),
    ):  # fmt: skip
        broken = [errored(n) for n in range(gone)]
        arms = {"detailed": forks, "detailed-then-minimal": [*broken, *forks[gone:]]}
        console = Console(width=1000, file=StringIO(), record=True)
        found = result(FORKED, arms, planned)
        print_result(console, FORKED, found, most=3, full=False)
        first = console.export_text().splitlines()[0]
        assert wanted in first
        assert ("Chance alone" in first) is (gone == 3)
        reach = 100 * (planned - 43 + gone) / planned
        assert f", -{reach:.1f} .. +{reach:.1f} had every lost pair gone either way" in first
        row: Any = to_json(FORKED, found)["rows"]
        assert row[0]["planned"] == planned
        assert row[0]["bounds"] == pytest.approx([-reach / 100, reach / 100])


def test_nothing_played_is_said() -> None:
    assert said(INDEPENDENT)[0] == "There is nothing to compare yet."


@pytest.mark.parametrize("full", [False, True])
def test_equal_tables_are_one(full: bool) -> None:
    base = [one(n, True, FAILED) for n in range(9)]
    forks = [one(n, False, FAILED) for n in range(9)]
    lines = said(FORKED, full=full, detailed=base, detailed_then_minimal=forks)
    titles = [line for line in lines if line.startswith("feedback, ")]
    assert titles == [
        "feedback, forked, all episodes, each with a failed call; tools in published order"
    ]
    assert ("By the first failed call" in lines) is full
