"""Pairs of attempts, and the figures of a comparison over studies of which the truth is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from benchmarks.failed_calls import Habit, rejections
from benchmarks.studies import Effect, studies
from tests.env.made import called, finished
from toolhop_env.attempt import Attempt, Key, attempt_of
from toolhop_env.benchmark import Benchmark
from toolhop_env.benchmarks.toolhop.scorer import BENCHMARK as TOOLHOP
from toolhop_env.measures import CODES, INSTANCE_ERROR, Measure, Unit
from toolhop_env.pairs.line import (
    Line,
    Method,
    Options,
    compared,
    corrected,
    disagreements,
    line,
    lines,
)
from toolhop_env.pairs.pair import Pair, by_key, join
from toolhop_env.score import Errored, Parts, Score
from toolhop_env.statistics.paired import mcnemar_exact

MADE = attempt_of(finished(called("born", 1815)))
RIGHT = Measure("right", "The answer is right.", binary=True, leads=True)
GRADE = Measure("grade", "A grade from 0 to 5.", unit=Unit.POINTS, leads=True)
STUDIES = 400


@cache
def one(
    item: object, right: bool | None = True, epoch: int = 1, grade: float | None = None
) -> Attempt:
    """A scored attempt; None for a measure that has no figure."""
    assert isinstance(MADE.verdict, Score)
    given = {"right": right, "grade": grade}
    values: dict[str, Parts | None] = {
        name: None if value is None else (float(value), 1.0) for name, value in given.items()
    }
    scored = replace(MADE.verdict, values=values)
    return replace(MADE, item=str(item), epoch=epoch, verdict=scored)


def errored(item: str, attempt: int = 1) -> Attempt:
    return replace(MADE, item=item, attempt=attempt, verdict=Errored("broke"))


def joined(sides: Iterable[tuple[Attempt, Attempt]]) -> Sequence[Pair]:
    before, after = zip(*sides, strict=True)
    pairs, left_out = join(by_key(before), by_key(after))
    assert left_out.total == 0
    return pairs


def pairs_of(*sides: tuple[bool, bool]) -> Sequence[Pair]:
    return joined((one(n, first), one(n, second)) for n, (first, second) in enumerate(sides))


def figures(measure: Measure, pairs: Sequence[Pair], options: Options | None = None) -> Line:
    found = line(measure, pairs, options or Options())
    assert found is not None
    return found


# Pairs


def test_what_is_errored_or_not_played_makes_no_pair_and_is_counted() -> None:
    before = [one("a"), one("b"), errored("c"), errored("d"), one("e"), errored("g")]
    after = [one("a", False), errored("b"), one("c"), errored("d"), one("f"), one("g"), one("h")]
    pairs, left_out = join(by_key(before), by_key(after))
    assert [pair.key.item for pair in pairs] == ["a"]
    reasons = (left_out.errored_before, left_out.errored_after, left_out.errored_both)
    assert reasons == (2, 1, 1)
    assert (left_out.not_played_before, left_out.not_played_after, left_out.total) == (2, 1, 7)


def test_the_attempt_that_counts_is_paired() -> None:
    again = replace(one("a"), attempt=2)
    assert by_key([errored("a"), again]) == {Key("a", "mandatory", 1): again}
    assert list(by_key([again], mode="one / two")) == [Key("a", "one / two", 1)]


def test_discordant_is_what_one_side_alone_has_right() -> None:
    sides = [((True, 0), (False, 5)), ((False, 5), (True, 5)), ((True, 5), (True, 5))]
    lost, gained, same = joined(
        (one(n, first, grade=low), one(n, second, grade=high))
        for n, ((first, low), (second, high)) in enumerate(sides)
    )
    changes = [pair.change(RIGHT) for pair in (lost, gained, same)]
    assert changes == [(True, False), (False, True), None]
    assert lost.discordant([GRADE, RIGHT]) == (RIGHT,)
    (unknown,) = joined([(one("a", None), one("a"))])
    assert unknown.discordant([RIGHT]) == ()


# Figures


def test_shares_of_one_pair_an_item_are_tested_by_mcnemar() -> None:
    sides = [(True, True)] * 4 + [(True, False)] * 10 + [(False, True)] * 2 + [(False, False)] * 4
    found = figures(RIGHT, pairs_of(*sides))
    assert (found.pairs, found.items, found.before, found.after) == (20, 20, 0.7, 0.3)
    assert (found.lost, found.gained) == (10, 2)
    assert found.difference == pytest.approx(-0.4)
    assert found.p_value == mcnemar_exact(2, 10)
    assert (found.test, found.interval) == (Method.MCNEMAR, Method.TANGO)
    assert found.mid_p is not None
    assert found.mid_p < found.p_value
    assert found.low is not None
    assert found.high is not None
    assert found.low < -0.4 < found.high < 0
    assert found.detectable is not None
    assert 0.3 < found.detectable < 0.6


def test_no_pair_has_no_figure_and_few_pairs_can_detect_nothing() -> None:
    assert line(RIGHT, [], Options()) is None
    found = figures(RIGHT, pairs_of((True, False)))
    assert (found.p_value, found.detectable) == (1.0, None)


def test_a_leading_mean_is_compared_as_a_ratio_over_items() -> None:
    grades = [(5, 4 - n % 2) for n in range(12)]
    pairs = joined((one(n, grade=low), one(n, grade=high)) for n, (low, high) in enumerate(grades))
    found = figures(GRADE, pairs)
    assert (found.before, found.after, found.difference) == (5.0, 3.5, -1.5)
    assert (found.test, found.interval) == (Method.PERMUTATION, Method.BOOTSTRAP)
    assert found.p_value == 2 / 2**12
    assert (found.gained, found.lost, found.mid_p, found.detectable) == (None, None, None, None)
    assert found.counts == ((60.0, 12.0), (42.0, 12.0))
    nothing = joined((one(n, grade=0), one(n, grade=0)) for n in range(9))
    assert figures(GRADE, nothing).p_value == 1


HALVES = Measure("right", "Right.", binary=True, leads=True, mean_of=("easy", "hard"))


def halved(item: int, half: str, right: bool) -> Attempt:
    made = one(item, right)
    assert isinstance(made.verdict, Score)
    parts: Parts = (float(right), 1.0)
    return replace(made, verdict=replace(made.verdict, values={"right": parts, half: parts}))


def test_a_mean_of_halves_is_compared_as_that_mean() -> None:
    """Of ten easy items two more are right, of thirty hard ones all that were wrong before."""
    sides = [
        (halved(n, half, before), halved(n, half, after))
        for n, (half, before, after) in enumerate(
            [("easy", True, True)] * 8 + [("easy", False, True)] * 2 + [("hard", False, True)] * 30
        )
    ]
    found = figures(HALVES, joined(sides))
    assert found.before == pytest.approx(0.4)
    assert found.after == 1.0
    assert (found.balanced, found.heading, found.detectable) == (True, "right, balanced", None)
    assert (found.pairs, found.gained, found.lost) == (40, 32, 0)
    assert found.low is not None
    assert found.low < found.difference == pytest.approx(0.6)
    assert found.p_value is not None
    assert found.p_value < 0.001
    flipped = figures(HALVES, joined([(b, a) for a, b in sides]))
    assert flipped.difference == -found.difference


def test_pairs_of_one_half_or_across_both_are_compared_as_they_are() -> None:
    alike = [(halved(n, "easy", False), halved(n, "easy", True)) for n in range(9)]
    across = [(halved(n, "easy", True), halved(n, "hard", False)) for n in range(9)]
    for sides in (alike, across):
        found = figures(HALVES, joined(sides))
        assert (found.balanced, found.test) == (False, Method.MCNEMAR)


def test_a_pair_without_a_figure_is_left_out_of_that_measure_alone() -> None:
    sides = [(one(n, None if n == 0 else True), one(n, False)) for n in range(9)]
    pairs = joined(sides)
    assert (figures(RIGHT, pairs).pairs, len(pairs)) == (8, 9)
    assert line(RIGHT, pairs[:1], Options()) is None


def test_codes_that_no_call_failed_with_and_time_have_no_line() -> None:
    measures = compared(TOOLHOP)
    assert measures[: len(TOOLHOP.measures)] == TOOLHOP.measures
    assert not [measure for measure in measures if measure.unit is Unit.SECONDS]
    pairs = joined((attempt, attempt) for attempt in [one("a")])
    assert lines([*CODES, INSTANCE_ERROR], pairs, Options()) == []


def test_as_many_failures_and_fewer_calls_are_no_more_errors() -> None:
    habit = Habit(40, 1, (8.0, 1.0))
    found = rejections(habit, count=60)
    assert found["share of calls (not made)"] > 0.8
    assert found["failed calls an episode"] <= 0.15
    assert found["one code an episode"] <= 0.15
    assert rejections(replace(habit, more=4.0), count=20)["failed calls an episode"] > 0.8


@pytest.mark.parametrize(
    ("gained", "of", "says"),
    [(5, 20, "Tango's interval"), (6, 20, ""), (3, 20, ""), (0, 20, "")],
)
def test_an_interval_and_a_p_value_that_seem_to_contradict_each_other(
    gained: int, of: int, says: str
) -> None:
    found = figures(RIGHT, pairs_of(*[(False, True)] * gained, *[(True, True)] * (of - gained)))
    reason = found.disagreement(0.95)
    assert bool(reason) == bool(says)
    assert says in reason
    assert disagreements([("right", found)], 0.95) == ({reason: ["right"]} if reason else {})
    assert not replace(found, low=None).disagreement(0.95)
    assert not replace(found, p_value=None).disagreement(0.95)
    resampled = replace(found, interval=Method.BOOTSTRAP, low=-0.1, high=0.4, p_value=0.04)
    assert "has 0 and p is at most 0.05: the bootstrap" in resampled.disagreement(0.95)
    many = replace(found, low=0.1, high=0.4, p_value=0.04, adjusted=0.08)
    assert "is not corrected" in many.disagreement(0.95)


def test_p_values_of_a_table_are_corrected_together() -> None:
    found = [line(RIGHT, pairs_of(*[(True, False)] * n), Options()) for n in (6, 8)]
    again = corrected([found[0], None, found[1]])
    assert again[1] is None
    assert [one and one.adjusted for one in again] == [2 / 2**6 * 1, None, 2 * 2 / 2**8]


def test_a_benchmark_that_leads_with_a_mean_has_it_among_its_answers() -> None:
    mean = Benchmark("m", "M", "1", ("one",), (GRADE,), lambda _: None, lambda _, __: {})
    assert mean.answer_measures == (GRADE,)


# Studies whose truth is known


def covered(truth: Effect, *, resamples: int = 10_000) -> tuple[float, float]:
    """Shares of made studies whose interval holds the truth, and whose test rejects."""
    held = rejected = 0
    for study in studies(truth, count=STUDIES, seed=11):
        pairs = joined(
            (one(item, first, epoch), one(item, second, epoch))
            for item, tries in study.items()
            for epoch, (first, second) in enumerate(tries, start=1)
        )
        found = figures(RIGHT, pairs, Options(resamples=resamples))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth.difference <= found.high
        rejected += found.p_value is not None and found.p_value <= 0.05
    return held / STUDIES, rejected / STUDIES


@pytest.mark.parametrize(
    ("truth", "least_power"),
    [
        (Effect(items=60, gained=0.05, lost=0.30, both=0.3), 0.8),
        (Effect(items=40, gained=0.20, lost=0.25, both=0.2), 0.03),
        (Effect(items=120, gained=0.03, lost=0.10, both=0.5), 0.3),
    ],
    ids=["as-in-table-5", "both-ways", "small"],
)
def test_intervals_hold_their_level(truth: Effect, least_power: float) -> None:
    share, power = covered(truth)
    assert 0.93 <= share <= 0.97
    assert power > least_power


def test_without_an_effect_there_are_few_false_alarms() -> None:
    share, alarms = covered(Effect(items=60, gained=0.2, lost=0.2, both=0.3))
    assert 0.93 <= share <= 0.97
    assert alarms <= 0.05


@pytest.mark.heavy
@pytest.mark.parametrize("lost", [0.15, 0.35])
def test_epochs_of_an_item_are_not_taken_for_items(lost: float) -> None:
    truth = Effect(items=50, gained=0.15, lost=lost, both=0.3, epochs=3, noise=0.1)
    share, rejected = covered(truth, resamples=1000)
    assert 0.93 <= share <= 0.97
    assert rejected <= 0.05 if truth.difference == 0 else rejected > 0.3
