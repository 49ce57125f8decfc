"""The estimators on made studies of which the truth is known."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from agents.ablate.design import Ablation, Design
from agents.ablate.effect import broken_down, by_code, by_hop, corrected, effect
from agents.ablate.pairs import Pair, Paired, Played, comparisons, counting
from agents.statistics.paired import mcnemar_exact
from agents.statistics.simulate import Effect as Truth
from agents.statistics.simulate import studies
from env.fork import Failure
from env.verdicts import ErrorCode

STUDIES = 1000
FAILED = Failure(2, 2, ErrorCode.WRONG_TYPE, "f", 1)
FORKED = Ablation(prefix_levels=("detailed",))
INDEPENDENT = Ablation(design=Design.INDEPENDENT)


def one(
    arm: str, item: object, right: bool, *, failure: Failure | None = None, **more: object
) -> Played:
    fields: dict[str, object] = {"epoch": 1, "attempt": 1, **more}
    return Played(
        str(item), arm=arm, episode=f"{item}", official=right, strict=right, failure=failure,
        **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def forked_study(outcomes: dict[int, list[tuple[bool, bool]]], rng: random.Random) -> Paired:
    """Arms as a forked ablation leaves them: every item of `outcomes` failed, others did not."""
    base, forks = [], []
    for item, pairs in outcomes.items():
        for epoch, (first, second) in enumerate(pairs, start=1):
            base.append(one("detailed", item, first, failure=FAILED, epoch=epoch))
            fork = one("detailed-then-minimal", item, second, failure=FAILED, epoch=epoch)
            forks.append(fork)
    base += [one("detailed", f"whole{n}", rng.random() < 0.8) for n in range(20)]
    rng.shuffle(base)
    (found,) = comparisons(FORKED, {"detailed": base, "detailed-then-minimal": forks})
    return found


def covered(truth: Truth, *, resamples: int = 10_000) -> tuple[float, float]:
    """Shares of made studies whose interval holds the truth, and whose test rejects."""
    rng = random.Random(0)
    held = rejected = 0
    for study in studies(truth, count=STUDIES, seed=11):
        paired = forked_study(study, rng)
        assert len(paired.pairs) == len(paired.failed) + 20
        found = effect(paired.failed, "strict", seed=0, resamples=resamples)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth.difference <= found.high
        rejected += found.p_value <= 0.05
    return held / STUDIES, rejected / STUDIES


@pytest.mark.parametrize(
    ("truth", "least_power"),
    [
        (Truth(items=60, gained=0.05, lost=0.30, both=0.3), 0.8),
        (Truth(items=40, gained=0.20, lost=0.25, both=0.2), 0.03),
        (Truth(items=120, gained=0.03, lost=0.10, both=0.5), 0.3),
    ],
    ids=["as-in-table-5", "both-ways", "small"],
)
def test_intervals_of_forks_hold_their_level(truth: Truth, least_power: float) -> None:
    share, power = covered(truth)
    assert 0.93 <= share <= 0.97
    assert power > least_power


def test_without_an_effect_forks_raise_few_false_alarms() -> None:
    share, alarms = covered(Truth(items=60, gained=0.2, lost=0.2, both=0.3))
    assert 0.93 <= share <= 0.97
    assert alarms <= 0.05


@pytest.mark.parametrize("lost", [0.15, 0.35])
def test_epochs_of_an_item_are_not_taken_for_items(lost: float) -> None:
    truth = Truth(items=50, gained=0.15, lost=lost, both=0.3, epochs=3, noise=0.1)
    share, rejected = covered(truth, resamples=1000)
    assert 0.93 <= share <= 0.97
    assert rejected <= 0.05 if truth.difference == 0 else rejected > 0.3


def chance_study(rng: random.Random, *, items: int = 60) -> Iterator[tuple[Played, Played, Played]]:
    """A model that chance rules, and that takes no notice of feedback.

    An episode has a failed call with a chance of 0.4; then it ends right in 20 of 100, else in 90.
    """

    def played(arm: str, item: int, failure: Failure | None) -> Played:
        return one(arm, item, rng.random() < (0.2 if failure else 0.9), failure=failure)

    for item in range(items):
        first, second = (FAILED if rng.random() < 0.4 else None for _ in range(2))
        base = played("detailed", item, first)
        yield base, played("detailed-then-minimal", item, first), played("minimal", item, second)


def test_chance_makes_an_effect_of_nothing_in_independent_runs_and_not_in_forks() -> None:
    rng, alarms = random.Random(5), {"forked": 0, "all": 0, "failed": 0}
    for _ in range(STUDIES):
        bases, forks, others = zip(*chance_study(rng), strict=True)
        branches = [fork for fork in forks if fork.failure]
        (forked,) = comparisons(FORKED, {"detailed": bases, "detailed-then-minimal": branches})
        (apart, _) = comparisons(INDEPENDENT, {"detailed": bases, "minimal": others})
        pairs = {"forked": forked.failed, "all": apart.pairs, "failed": apart.failed}
        for name, these in pairs.items():
            sides = [pair.right("strict") for pair in these]
            gained = sum(after and not before for before, after in sides)
            lost = sum(before and not after for before, after in sides)
            alarms[name] += mcnemar_exact(gained, lost) <= 0.05
    assert alarms["forked"] <= 0.05 * STUDIES
    assert alarms["all"] <= 0.05 * STUDIES
    assert alarms["failed"] > 0.5 * STUDIES


def pairs_of(
    *sides: tuple[bool, bool], code: ErrorCode = ErrorCode.WRONG_TYPE, hop: int | None = 0
) -> list[Pair]:
    failure = Failure(1, 1, code, "f", hop)
    return [
        Pair(one("a", n, first), one("b", n, second), failure)
        for n, (first, second) in enumerate(sides)
    ]


def test_the_figures_are_those_of_table_5() -> None:
    sides = [(True, True)] * 4 + [(True, False)] * 10 + [(False, True)] * 2 + [(False, False)] * 4
    found = effect(pairs_of(*sides), "official", seed=0)
    assert found is not None
    assert (found.pairs, found.items, found.first, found.second) == (20, 20, 0.7, 0.3)
    assert (found.share_to_incorrect, found.share_to_correct) == (0.5, 0.1)
    assert found.difference == pytest.approx(found.share_to_correct - found.share_to_incorrect)
    assert found.p_value == mcnemar_exact(2, 10)
    assert found.low is not None
    assert found.high is not None
    assert found.low < -0.4 < found.high < 0
    assert 0.3 < found.detectable < 0.6


def test_no_pair_has_no_effect_and_few_pairs_could_show_none() -> None:
    assert effect([], "strict", seed=0) is None
    found = effect(pairs_of((True, False)), "strict", seed=0)
    assert found is not None
    assert (found.p_value, found.detectable) == (1.0, math.inf)


def test_p_values_of_a_table_are_corrected_together() -> None:
    found = [effect(pairs_of(*[(True, False)] * n), "strict", seed=0) for n in (6, 8)]
    again = corrected([found[0], None, found[1]])
    assert again[1] is None
    assert [one and one.corrected for one in again] == [2 / 2**6 * 1, None, 2 * 2 / 2**8]


def test_breakdowns_are_by_the_first_failed_call() -> None:
    pairs = pairs_of((True, False), hop=2) + pairs_of((True, True), code=ErrorCode.RAISED, hop=None)
    assert list(broken_down(pairs, by_code, "strict", seed=0)) == ["raised", "wrong_type"]
    assert list(broken_down(pairs, by_hop, "strict", seed=0)) == ["3", "none"]


def test_attempts_void_episodes_and_missing_branches_make_no_pair() -> None:
    base = [
        one("detailed", 1, False, void="broke"),
        one("detailed", 1, True, attempt=2, failure=FAILED),
        one("detailed", 2, True, failure=FAILED),
        one("detailed", 3, False, void="broke"),
        one("detailed", 4, True),
        one("detailed", 5, True, failure=FAILED),
    ]
    forks = [
        one("detailed-then-minimal", 1, False, failure=FAILED),
        one("detailed-then-minimal", 2, False, void="broke"),
    ]
    assert counting(base)["1", 1].attempt == 2
    (found,) = comparisons(FORKED, {"detailed": base, "detailed-then-minimal": forks})
    assert [pair.item for pair in found.pairs] == ["1", "4"]
    assert [pair.item for pair in found.failed] == ["1"]
    assert found.left_out == 3
    assert found.pairs[1].first is found.pairs[1].second


def test_three_levels_are_compared_with_the_first_from_every_prefix() -> None:
    ablation = Ablation(levels=("detailed", "minimal", "x"), templates=())
    arms = {
        arm.name: [one(arm.name, 1, arm.level != "minimal", failure=FAILED)]
        for arm in ablation.arms
    }
    assert len(arms) == 9
    found = comparisons(ablation, arms)
    forked = [(c.prefix, c.first, c.second) for c in found if c.forked]
    assert forked == [
        (prefix, "detailed", other)
        for prefix in ("detailed", "minimal", "x")
        for other in ("minimal", "x")
    ]
    assert len([c for c in found if not c.forked]) == 4
    by_prefix = next(c for c in found if c.prefix == "x" and c.second == "minimal")
    (pair,) = by_prefix.pairs
    assert (pair.first.arm, pair.second.arm) == ("x-then-detailed", "x-then-minimal")
