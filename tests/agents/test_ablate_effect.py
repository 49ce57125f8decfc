"""Which pairs an ablation makes of its arms, and what chance makes of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from io import StringIO

import pytest
from rich.console import Console

from tests.env.made import called, finished
from toolhop_agents.ablate.contrasts import Contrast, contrasts
from toolhop_agents.ablate.design import Ablation, Arm, Design, Factor
from toolhop_agents.ablate.plain import to_json
from toolhop_agents.ablate.result import Result, broken_down, code, hop, result, rows_of
from toolhop_agents.ablate.table import print_result
from toolhop_env.attempt import Attempt, Key, attempt_of
from toolhop_env.benchmarks.toolhop.scorer import BENCHMARK as TOOLHOP
from toolhop_env.fork import Failure
from toolhop_env.measures import Measure, Unit
from toolhop_env.pairs.line import Options
from toolhop_env.score import Errored, Parts, Score
from toolhop_env.statistics.paired import mcnemar_exact
from toolhop_env.verdicts import ErrorCode

STUDIES = 1000
FAILED = Failure(2, 2, ErrorCode.WRONG_TYPE, "f", 1)
FORKED = Ablation(prefix_levels=("detailed",))
INDEPENDENT = Ablation(design=Design.INDEPENDENT)
MADE = attempt_of(finished(called("born", 1815)))
LEAD = TOOLHOP.lead


@cache
def one(item: object, right: bool, failure: Failure | None = None) -> Attempt:
    assert isinstance(MADE.verdict, Score)
    values: dict[str, Parts | None] = {one.name: (float(right), 1.0) for one in TOOLHOP.measures}
    verdict = replace(MADE.verdict, values=values)
    return replace(MADE, item=str(item), verdict=verdict, failure=failure)


def errored(item: object) -> Attempt:
    return replace(MADE, item=str(item), verdict=Errored("broke"))


def chance_study(
    rng: random.Random, *, items: int = 60
) -> Iterator[tuple[Attempt, Attempt, Attempt]]:
    """A model that chance rules, and that takes no notice of feedback.

    An episode has a failed call with a chance of 0.4; then it ends right in 20 of 100, else in 90.
    """

    def played(item: int, failure: Failure | None) -> Attempt:
        return one(item, rng.random() < (0.2 if failure else 0.9), failure)

    for item in range(items):
        first, second = (FAILED if rng.random() < 0.4 else None for _ in range(2))
        yield played(item, first), played(item, first), played(item, second)


def test_chance_makes_an_effect_of_nothing_in_independent_runs_and_not_in_forks() -> None:
    rng, alarms = random.Random(5), {"forked": 0, "all": 0, "failed": 0}
    for _ in range(STUDIES):
        bases, forks, others = zip(*chance_study(rng), strict=True)
        branches = [fork for fork in forks if fork.failure]
        (forked,) = contrasts(FORKED, {"detailed": bases, "detailed-then-minimal": branches})
        (apart, _) = contrasts(INDEPENDENT, {"detailed": bases, "minimal": others})
        pairs = {"forked": forked.failed, "all": apart.pairs, "failed": apart.failed}
        for name, these in pairs.items():
            changes = [pair.change(LEAD) for pair in these]
            gained, lost = changes.count((False, True)), changes.count((True, False))
            alarms[name] += mcnemar_exact(gained, lost) <= 0.05
    assert alarms["forked"] <= 0.05 * STUDIES
    assert alarms["all"] <= 0.05 * STUDIES
    assert alarms["failed"] > 0.5 * STUDIES


def test_breakdowns_are_by_the_first_failed_call() -> None:
    third, other = (Failure(1, 1, ErrorCode.RAISED, "f", 2), replace(FAILED, hop=None))
    base = [one(1, True, third), one(2, True, other)]
    forks = [one(1, False, third), one(2, True, other)]
    (found,) = contrasts(FORKED, {"detailed": base, "detailed-then-minimal": forks})
    by_code = broken_down(found, code, LEAD, Options())
    assert [(name, line.lost) for name, line in by_code.items()] == [
        ("raised", 1),
        ("wrong_type", 0),
    ]
    assert list(broken_down(found, hop, LEAD, Options())) == ["3", "none"]


def test_attempts_errored_episodes_and_missing_branches_make_no_pair() -> None:
    base = [
        errored(1),
        replace(one(1, True, FAILED), attempt=2),
        one(2, True, FAILED),
        errored(3),
        one(4, True),
        one(5, True, FAILED),
    ]
    forks = [one(1, False, FAILED), errored(2)]
    (found,) = contrasts(FORKED, {"detailed": base, "detailed-then-minimal": forks})
    assert [pair.key.item for pair in found.pairs] == ["1", "4"]
    assert [pair.key.item for pair in found.failed] == ["1"]
    assert found.left_out == 3
    assert found.pairs[1].before is found.pairs[1].after
    fork = Arm("minimal", "detailed")
    assert found.arms(found.pairs[0]) == (Arm("detailed"), fork)
    assert (found.arms(found.pairs[1]), fork.base) == ((fork.base, fork.base), Arm("detailed"))


def test_three_levels_are_compared_with_the_first_from_every_prefix() -> None:
    ablation = Ablation(levels=("detailed", "minimal", "x"), templates=())
    arms = {arm.name: [one(1, arm.level != "minimal", FAILED)] for arm in ablation.arms}
    assert len(arms) == 9
    found = contrasts(ablation, arms)
    forked = [(c.prefix, c.first, c.second) for c in found if c.forked]
    assert forked == [
        (prefix, "detailed", other)
        for prefix in ("detailed", "minimal", "x")
        for other in ("minimal", "x")
    ]
    assert len([c for c in found if not c.forked]) == 4
    by_prefix: Contrast = next(c for c in found if c.prefix == "x" and c.second == "minimal")
    (pair,) = by_prefix.pairs
    assert [arm.name for arm in by_prefix.arms(pair)] == ["x-then-detailed", "x-then-minimal"]


def test_modes_are_paired_by_item_and_epoch() -> None:
    ablation = Ablation(factor=Factor.MODE, design=Design.INDEPENDENT, levels=("free", "direct"))
    arms = {mode: [replace(one(n, True), mode=mode) for n in (1, 2)] for mode in ablation.levels}
    (found,) = contrasts(ablation, arms)
    assert [(pair.before.mode, pair.after.mode) for pair in found.pairs] == [("free", "direct")] * 2
    rows = result(ablation, arms).rows
    assert [row.measure for row in rows] == list(TOOLHOP.answer_measures)
    assert result(ablation, {}).rows == []


def test_a_lead_that_is_a_mean_has_no_shares_of_discordant_pairs() -> None:
    grade = Measure("grade", "A grade from 0 to 5.", unit=Unit.POINTS, leads=True)

    def graded(item: int, points: float) -> Attempt:
        assert isinstance(MADE.verdict, Score)
        verdict = replace(MADE.verdict, values={"grade": (points, 1.0)})
        return replace(MADE, item=str(item), verdict=verdict, failure=FAILED)

    base, forks = [graded(n, 5) for n in range(9)], [graded(n, 4 - n % 2) for n in range(9)]
    found = contrasts(FORKED, {"detailed": base, "detailed-then-minimal": forks})
    whole = Result((grade,), list(rows_of(FORKED, (grade,), found)), [], {})
    plain = json.loads(json.dumps(to_json(FORKED, whole)["rows"]))
    for row in plain:
        effect = row["effect"]
        assert (row["rule"], row["unit"]) == ("grade", "points")
        assert (effect["first"], effect["second"]) == (5.0, pytest.approx(32 / 9))
        assert effect["p_value"] == 2 / 2**9
        assert effect["low"] < effect["difference"] < effect["high"] < 0
        for share in ("to_incorrect", "share_to_incorrect", "share_to_correct", "detectable"):
            assert effect[share] is None
    console = Console(width=120, file=StringIO(), record=True)
    print_result(console, FORKED, whole, most=3, full=False)
    text = console.export_text(clear=False)
    (line, *_) = [line for line in text.splitlines() if line.startswith("detailed")]
    assert line.split()[:7] == ["detailed", "grade", "9", "5.00", "3.56", "-", "-"]
    assert "grade goes from 5.00 to 3.56, a difference of -1.44 (95 % interval" in text


@pytest.mark.parametrize("continuations", [1, 3])
def test_no_minimum_detectable_difference_is_stated_for_several_continuations(
    continuations: int,
) -> None:
    ablation = Ablation(prefix_levels=("detailed",), continuations=continuations)
    arms = {"detailed": [one(n, n % 2 == 0, FAILED) for n in range(40)]}
    if continuations > 1:
        arms["detailed-then-detailed"] = branches_of(arms["detailed"], continuations)
    minimal = [one(n, n % 3 == 0, FAILED) for n in range(40)]
    arms["detailed-then-minimal"] = branches_of(minimal, continuations)
    found = result(ablation, arms)
    (row, *_) = found.rows
    assert row.effect is not None
    assert row.effect.pairs == 40 * continuations
    assert (row.effect.detectable is None) == (continuations > 1)
    console = Console(record=True, width=300)
    print_result(console, ablation, found, most=0, full=True)
    shown = console.export_text()
    assert ("is often missed" in shown) == (continuations == 1)


def branches_of(episodes: list[Attempt], number: int) -> list[Attempt]:
    return [replace(each, epoch=n) for each in episodes for n in range(1, number + 1)]


def test_continuations_are_pairs_within_a_fork_and_clustered_by_item() -> None:
    ablation = Ablation(prefix_levels=("detailed",), continuations=3)
    assert [arm.name for arm in ablation.arms] == [
        "detailed", "detailed-then-detailed", "detailed-then-minimal",
    ]  # fmt: skip
    assert [ablation.settings(arm).epochs for arm in ablation.arms] == [1, 3, 3]
    base = [one(1, False, FAILED), one(2, True), errored(3), one(4, True, FAILED)]

    def branches(*right: bool) -> list[Attempt]:
        return [replace(one(1, was, FAILED), epoch=n) for n, was in enumerate(right, start=1)]

    arms = {
        "detailed": base,
        "detailed-then-detailed": branches(True, True, False),
        "detailed-then-minimal": branches(False, True, False),
    }
    (found,) = contrasts(ablation, arms)
    # The base's own end counts at no level: all levels are played on alike.
    (row, *_) = result(ablation, arms).rows
    assert row.effect is not None
    assert (row.effect.pairs, row.effect.items) == (3, 1)
    assert (row.effect.lost, row.effect.gained) == (1, 0)
    assert [(pair.key.item, pair.key.epoch) for pair in found.pairs] == [
        ("1", 1), ("1", 2), ("1", 3), ("2", 1), ("2", 2), ("2", 3),
    ]  # fmt: skip
    # Three for the errored episode, and three for the fork that was not played on.
    assert found.left_out == 6
    (planned,) = contrasts(ablation, arms, 5)
    assert planned.left_out == 9
    assert found.arms(found.pairs[0]) == tuple(Arm(level, "detailed") for level in ablation.levels)
    assert found.arms(found.pairs[3]) == (Arm("detailed"), Arm("detailed"))
    assert ablation.branches(Key("1", "free", 2)) == tuple(Key("1", "free", n) for n in (4, 5, 6))
