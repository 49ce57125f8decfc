from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from env.feedback import Level
from env.reading import Dialect
from env.score import Score, Verdict, Void, score
from env.summary import Judged, Summary, counting, judge, summarize
from env.trace import Ended, Ending, Trace
from env.verdicts import ErrorCode
from tests.env.made import called, finished

SCORE = score(finished(called("born", 1815), called("minus", 36)))


def one(item: str = "i", **changes: Any) -> Judged:  # noqa: ANN401
    """A verdict on one episode; fields of `Judged` and of `Score` can be changed."""
    assert isinstance(SCORE, Score)
    verdict: Verdict = changes.pop("verdict", SCORE)
    labels: dict[str, Any] = {"mode": "mandatory", "epoch": 1, "attempt": 1, "player": "p"}
    labels |= {"feedback": Level.DETAILED, "dialect": Dialect.NATIVE, "episode": item}
    labels |= {key: changes.pop(key) for key in list(changes) if key in labels}
    if isinstance(verdict, Score):
        verdict = replace(verdict, **changes)
    return Judged(item=item, verdict=verdict, **labels)


def summary(*judged: Judged) -> Summary:
    (found,) = summarize(judged)
    return found


@given(st.lists(st.booleans(), min_size=2, max_size=30))
def test_one_episode_an_item_has_the_usual_standard_error(right: list[bool]) -> None:
    found = summary(*(one(str(n), strict=value) for n, value in enumerate(right))).strict
    assert found is not None
    assert found.value == pytest.approx(statistics.fmean(right))
    usual = statistics.stdev(map(float, right)) / math.sqrt(len(right))
    assert found.stderr == pytest.approx(usual)
    assert found.count == len(right)


EPOCHS = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=2, max_size=8)


@given(EPOCHS)
def test_epochs_of_an_item_are_no_new_items(items: list[list[bool]]) -> None:
    judged = [
        one(str(n), epoch=epoch, strict=value)
        for n, values in enumerate(items)
        for epoch, value in enumerate(values, start=1)
    ]
    found = summary(*judged).strict
    means = [statistics.fmean(values) for values in items]
    assert found is not None
    assert found.count == 3 * len(items)
    assert found.value == pytest.approx(statistics.fmean(means))
    assert found.stderr == pytest.approx(statistics.stdev(means) / math.sqrt(len(means)))


CALLS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), min_size=2, max_size=9)


@given(CALLS)
def test_a_ratio_has_the_standard_error_of_its_linearisation(pairs: list[tuple[int, int]]) -> None:
    judged = [
        one(str(n), calls=calls + bad, errors={ErrorCode.RAISED: bad} if bad else {})
        for n, (bad, calls) in enumerate(pairs)
    ]
    found = summary(*judged).instance_error
    bad = [float(b) for b, _ in pairs]
    calls = [float(b + c) for b, c in pairs]
    ratio = sum(bad) / sum(calls)
    residues = [b - ratio * c for b, c in zip(bad, calls, strict=True)]
    # The mean of the residues is 0, so their deviation is that of the ratio's numerator.
    usual = statistics.stdev(residues) * math.sqrt(len(pairs)) / sum(calls)
    assert found is not None
    assert found.count == sum(calls)
    assert found.value == pytest.approx(ratio)
    assert found.stderr == pytest.approx(usual, abs=1e-12)


def test_the_ratios_standard_error_is_close_to_the_jackknifes() -> None:
    pairs = [(n % 3, 4 + n % 4) for n in range(60)]
    judged = [
        one(str(n), calls=calls, errors={ErrorCode.RAISED: bad})
        for n, (bad, calls) in enumerate(pairs)
    ]
    without = [
        sum(b for b, _ in pairs[:n] + pairs[n + 1 :])
        / sum(c for _, c in pairs[:n] + pairs[n + 1 :])
        for n in range(60)
    ]
    centre = statistics.fmean(without)
    jackknife = math.sqrt(59 / 60 * sum((value - centre) ** 2 for value in without))
    found = summary(*judged).instance_error
    assert found is not None
    assert found.stderr == pytest.approx(jackknife, rel=0.02)


def test_a_single_item_has_no_standard_error() -> None:
    found = summary(one(epoch=1), one(epoch=2)).strict
    assert found is not None
    assert (found.value, found.stderr, found.count) == (1.0, None, 2)


def test_void_episodes_are_counted_and_in_no_mean() -> None:
    found = summary(
        one("a"), one("b", verdict=Void("no engine"), attempt=2), one("c", strict=False)
    )
    assert (found.episodes, found.void) == (3, 1)
    assert found.strict is not None
    assert (found.strict.value, found.strict.count) == (0.5, 2)


def test_nothing_but_void_has_no_figures() -> None:
    found = summary(one(verdict=Void("x")))
    assert (found.strict, found.official, found.query_error, found.hops_solved) == (None,) * 4
    assert (found.episodes, found.void, found.cost_usd) == (1, 1, 0)
    assert summarize([]) == []


def test_an_unset_official_answer_is_wrong() -> None:
    found = summary(one("a", official=None), one("b", official=True)).official
    assert found is not None
    assert found.value == 0.5


def test_query_and_instance_errors() -> None:
    found = summary(
        one("a", calls=4, errors={ErrorCode.RAISED: 2, ErrorCode.NOT_JSON: 1}),
        one("b", calls=6, errors={}),
        one("c", calls=0, errors={}),
    )
    assert found.query_error is not None
    assert found.instance_error is not None
    assert found.query_error.value == pytest.approx(1 / 3)
    assert (found.instance_error.value, found.instance_error.count) == (0.3, 10)
    assert found.errors == {ErrorCode.RAISED: 2, ErrorCode.NOT_JSON: 1}


def test_without_calls_no_instance_can_err() -> None:
    assert summary(one("a", calls=0), one("b", calls=0)).instance_error is None


def test_sums_and_unknown_prices() -> None:
    known = summary(one("a", cost_usd=0.5, retries=2), one("b", cost_usd=0.25))
    assert (known.cost_usd, known.retries) == (0.75, 2)
    assert summary(one("a", cost_usd=0.5), one("b", cost_usd=None)).cost_usd is None
    assert known.endings == {Ending.ANSWERED: 2}


def test_the_first_attempt_that_is_not_void_counts() -> None:
    void, right, wrong = Void("x"), one(attempt=2), one(attempt=3, strict=False)
    tries = [wrong, one(attempt=1, verdict=void), right]
    assert counting(tries) == [right]
    last = one(attempt=2, verdict=void)
    assert counting([last, one(attempt=1, verdict=void)]) == [last]


def test_players_modes_items_and_epochs_are_apart() -> None:
    judged = [one(), one(player="q"), one(mode="free"), one(epoch=2), one("j")]
    assert len(counting(judged)) == 5
    assert [(s.player, s.mode, s.episodes) for s in summarize(judged)] == [
        ("p", "mandatory", 3),
        ("q", "mandatory", 1),
        ("p", "free", 1),
    ]


def test_feedback_levels_and_dialects_are_apart_and_runs_are_pooled() -> None:
    judged = [one(), one(), one(feedback=Level.MINIMAL), one(dialect=Dialect.TEXT)]
    found = [(s.feedback.value, s.dialect.value, s.episodes) for s in summarize(judged)]
    assert found == [("detailed", "native", 2), ("minimal", "native", 1), ("detailed", "text", 1)]


def test_a_trace_is_judged_with_its_labels() -> None:
    trace = finished(item="i7", mode="free", epoch=2, attempt=3, player="q", episode="e")
    labels = (2, 3, "q", Level.DETAILED, Dialect.NATIVE, "e")
    assert judge(trace) == Judged("i7", "free", *labels, score(trace))
    void = Trace((*trace.events[:-1], Ended(Ending.VOID, 0.0, "x")))
    assert judge(void).verdict == Void("x")
