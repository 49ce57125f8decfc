"""From attempts to figures with standard errors."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.env.made import called, finished
from toolhop_env.attempt import Attempt, attempt_of, counting
from toolhop_env.benchmarks import score
from toolhop_env.chain import Kind
from toolhop_env.estimates import Estimate, figures
from toolhop_env.feedback import Level
from toolhop_env.measures import Measure
from toolhop_env.reading import CallFormat
from toolhop_env.score import Conduct, Errored, Parts, Score, Verdict
from toolhop_env.statistics.wilson import wilson
from toolhop_env.summary import Summary, summarize
from toolhop_env.trace import Ended, Ending, Trace
from toolhop_env.verdicts import ErrorCode

SCORE = score(finished(called("born", 1815), called("minus", 36)))
CONDUCTED = {one.name for one in fields(Conduct)}


def one(item: str = "i", **changes: Any) -> Attempt:
    """An attempt; fields of `Attempt` and `Conduct` can be changed, and what is true or false."""
    assert isinstance(SCORE, Score)
    conduct = {name: changes.pop(name) for name in list(changes) if name in CONDUCTED}
    values = {name: changes.pop(name) for name in list(changes) if name in SCORE.values}
    verdict: Verdict = Score(
        replace(SCORE.conduct, **conduct),
        {**SCORE.values, **{name: None if v is None else (v, 1.0) for name, v in values.items()}},
    )
    labels: dict[str, Any] = {"benchmark": "toolhop", "item_digest": "d", "agent": "p"}
    labels |= {"mode": "mandatory", "epoch": 1, "attempt": 1, "verdict": verdict, "episode": item}
    labels |= {"feedback": Level.DETAILED, "call_format": CallFormat.NATIVE}
    return Attempt(item=item, **labels | changes)


def figure(name: str, *attempts: Attempt) -> Estimate:
    """One figure of one group of attempts."""
    found = summary(*attempts).figures[name]
    assert found is not None
    return found


def summary(*judged: Attempt) -> Summary:
    (found,) = summarize(judged)
    return found


@given(st.lists(st.booleans(), min_size=2, max_size=30))
def test_one_episode_an_item_has_the_usual_standard_error(right: list[bool]) -> None:
    found = figure("strict", *(one(str(n), strict=value) for n, value in enumerate(right)))
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
    found = figure("strict", *judged)
    means = [statistics.fmean(values) for values in items]
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
    found = figure("instance_error", *judged)
    bad = [float(b) for b, _ in pairs]
    calls = [float(b + c) for b, c in pairs]
    ratio = sum(bad) / sum(calls)
    residues = [b - ratio * c for b, c in zip(bad, calls, strict=True)]
    # The mean of the residues is 0, so their deviation is that of the ratio's numerator.
    usual = statistics.stdev(residues) * math.sqrt(len(pairs)) / sum(calls)
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
    found = figure("instance_error", *judged)
    assert found.stderr == pytest.approx(jackknife, rel=0.02)


def test_a_single_item_has_no_standard_error() -> None:
    found = figure("strict", one(epoch=1), one(epoch=2))
    assert (found.value, found.stderr, found.count) == (1.0, None, 2)


def test_errored_episodes_are_counted_and_in_no_mean() -> None:
    found = summary(
        one("a"), one("b", verdict=Errored("no engine"), attempt=2), one("c", strict=False)
    )
    assert (found.episodes, found.errored) == (3, 1)
    strict = found.figures["strict"]
    assert strict is not None
    assert (strict.value, strict.count) == (0.5, 2)


def test_nothing_but_errored_has_no_figures() -> None:
    found = summary(one(verdict=Errored("x")))
    assert set(found.figures.values()) == {None}
    assert (found.episodes, found.errored, found.spent.cost_usd) == (1, 1, 0)
    assert summarize([]) == []


def test_an_episode_without_a_figure_is_left_out() -> None:
    found = figure("official", one("a", official=None), one("b", official=True), one("c"))
    assert (found.value, found.count) == (1.0, 2)


def test_query_and_instance_errors() -> None:
    attempts = (
        one("a", calls=4, errors={ErrorCode.RAISED: 2, ErrorCode.NOT_JSON: 1}),
        one("b", calls=6, errors={}),
        one("c", calls=0, errors={}),
    )
    assert figure("query_error", *attempts).value == pytest.approx(1 / 3)
    by_call = figure("instance_error", *attempts)
    assert (by_call.value, by_call.count) == (0.3, 10)
    assert summary(*attempts).errors == {ErrorCode.RAISED: 2, ErrorCode.NOT_JSON: 1}


def test_without_calls_no_instance_can_err() -> None:
    without = summary(one("a", calls=0), one("b", calls=0))
    assert without.figures["instance_error"] is None


def test_sums_and_unknown_prices() -> None:
    known = summary(one("a", cost_usd=0.5, retries=2), one("b", cost_usd=0.25))
    assert (known.spent.cost_usd, known.spent.requests - known.spent.replies) == (0.75, 2)
    assert figure("cost", one("a", cost_usd=0.5), one("b", cost_usd=0.25)).value == 0.375
    unknown = summary(one("a", cost_usd=0.5), one("b", cost_usd=None))
    assert unknown.spent.cost_usd is None
    assert known.endings == {Ending.ANSWERED: 2}


def test_the_first_attempt_that_is_not_errored_counts() -> None:
    errored, right, wrong = Errored("x"), one(attempt=2), one(attempt=3, strict=False)
    tries = [wrong, one(attempt=1, verdict=errored), right]
    assert counting(tries) == [right]
    last = one(attempt=2, verdict=errored)
    assert counting([last, one(attempt=1, verdict=errored)]) == [last]


def test_agents_modes_items_and_epochs_are_apart() -> None:
    judged = [one(), one(agent="q"), one(mode="free"), one(epoch=2), one("j")]
    assert len(counting(judged)) == 5
    assert [(s.group.agent, s.group.mode, s.episodes) for s in summarize(judged)] == [
        ("p", "mandatory", 3),
        ("q", "mandatory", 1),
        ("p", "free", 1),
    ]


def test_feedback_levels_and_call_formats_are_apart_and_runs_are_pooled() -> None:
    judged = [one(), one(), one(feedback=Level.MINIMAL), one(call_format=CallFormat.TEXT)]
    summaries = summarize(judged)
    found = [(s.group.feedback, s.group.call_format, s.episodes) for s in summaries]
    assert found == [("detailed", "native", 2), ("minimal", "native", 1), ("detailed", "text", 1)]


def test_certified_items_have_figures_of_their_own() -> None:
    attempts = [one("a", proven=True), one("b", proven=True, strict=False), one("c", proven=False)]
    found = summary(*attempts)
    strict = found.figures_proven["strict"]
    assert strict is not None
    assert (found.proven, strict.value, strict.count) == (2, 0.5, 2)
    assert set(found.figures_proven) == {"strict", "official"}
    assert summary(one()).proven is None


def test_a_trace_is_an_attempt_with_its_labels() -> None:
    trace = finished(item="i7", mode="free", epoch=2, attempt=3, agent="q", episode="e")
    found = attempt_of(trace)
    assert (found.key, found.attempt, found.agent) == (("i7", "free", 2), 3, "q")
    assert (found.episode, found.item_digest, found.benchmark) == ("e", "d", "toolhop")
    assert (found.feedback, found.call_format) == (Level.DETAILED, CallFormat.NATIVE)
    scored, kinds = score(trace), (Kind.ANSWERED_WITHOUT_CALLS,)
    assert isinstance(scored, Score)
    conduct = replace(scored.conduct, divergences=kinds)
    assert (found.verdict, found.ended) == (replace(scored, conduct=conduct), True)
    errored = attempt_of(Trace((*trace.events[:-1], Ended(Ending.ERRORED, 0.0, "x"))))
    assert (errored.verdict, errored.score, errored.errored) == (Errored("x"), None, "x")
    assert attempt_of(Trace(trace.events[:-1])).ended is False


def mean_of(*names: str, scores: list[dict[str, tuple[float, float]]]) -> Estimate | None:
    """The mean of measures over made episodes, one an item."""
    assert isinstance(SCORE, Score)
    measures = [Measure(name, "One of them.") for name in names]
    measures.append(Measure("mean", "Their mean.", mean_of=names))
    made = [
        (str(n), replace(SCORE, values=dict[str, Parts | None](values)))
        for n, values in enumerate(scores)
    ]
    return figures(measures, made)["mean"]


def test_the_mean_of_a_measure_with_itself_is_the_measure() -> None:
    scores = [{"a": (1.0, 2.0)}, {"a": (3.0, 3.0)}, {"a": (0.0, 4.0)}]
    assert mean_of("a", scores=scores) == mean_of("a", "a", scores=scores)


def test_the_mean_of_measures_is_of_their_ratios_and_errors_may_cancel() -> None:
    scores = [{"a": (1.0, 1.0), "b": (0.0, 1.0)}, {"a": (0.0, 1.0), "b": (1.0, 1.0)}]
    found = mean_of("a", "b", scores=scores)
    assert found is not None
    assert (found.value, found.stderr) == (0.5, 0.0)


def test_the_error_of_a_mean_is_that_of_leaving_items_out() -> None:
    """The jackknife's, to within what is not linear."""
    rng = random.Random(4)
    scores = [
        {"a": (rng.random() * 3, 3.0), "b": (rng.random(), rng.uniform(1, 2))} for _ in range(200)
    ]
    found = mean_of("a", "b", scores=scores)
    assert found is not None
    left = [mean_of("a", "b", scores=scores[:n] + scores[n + 1 :]) for n in range(200)]
    values = [one.value for one in left if one is not None]
    jackknife = math.sqrt(199 / 200 * sum((v - statistics.fmean(values)) ** 2 for v in values))
    assert found.stderr == pytest.approx(jackknife, rel=0.02)


def test_a_mean_needs_every_one_of_its_measures() -> None:
    assert mean_of("a", "b", scores=[{"a": (1.0, 1.0), "b": (0.0, 0.0)}]) is None


def test_tries_at_an_item_give_pass_at_k_and_pass_hat_k() -> None:
    right = {"a": (1, 0, 0, 0), "b": (1, 1, 1, 0), "c": (0, 0), "d": (1,)}
    found = summary(
        *(
            one(item, epoch=epoch, strict=value)
            for item, tries in right.items()
            for epoch, value in enumerate(tries, 1)
        ),
        one("a", epoch=5, verdict=Errored("broke")),
    ).passes["strict"]
    assert [(rate.k, rate.items) for rate in found["pass@k"]] == [(1, 4), (2, 3), (4, 2)]
    at = {rate.k: rate.value for rate in found["pass@k"]}
    hat = {rate.k: rate.value for rate in found["pass^k"]}
    # Of the six ways to choose two of four tries at `a` three hold its success, at `b` all.
    assert at == pytest.approx({1: (1 / 4 + 3 / 4 + 0 + 1) / 4, 2: (1 / 2 + 1 + 0) / 3, 4: 1})
    assert hat == pytest.approx({1: at[1], 2: (0 + 1 / 2 + 0) / 3, 4: 0})


def test_one_try_an_item_gives_none() -> None:
    assert summary(one("a"), one("b")).passes == {}


def test_a_share_of_all_or_none_has_an_interval_with_a_width() -> None:
    for right, limits in ((True, (0.918, 1.0)), (False, (0.0, 0.082))):
        found = figure("strict", *(one(str(n), strict=right) for n in range(43)))
        assert (found.low, found.high) == pytest.approx(limits, abs=0.0005), "Wilson's for 43"
    again = [one(str(n), epoch=epoch, strict=True) for n in range(43) for epoch in (1, 2, 3)]
    assert figure("strict", *again).low == pytest.approx(0.918, abs=0.0005), "items are the trials"
    alone = figure("strict", *(one("i", epoch=n, strict=True) for n in (1, 2)))
    assert (alone.low, alone.high) == pytest.approx((0.207, 1.0), abs=0.0005), "one item's"


@given(EPOCHS)
def test_the_interval_of_a_share_lies_between_those_of_items_and_of_episodes(
    items: list[list[bool]],
) -> None:
    judged = [
        one(str(n), epoch=epoch, strict=value)
        for n, values in enumerate(items)
        for epoch, value in enumerate(values, start=1)
    ]
    found = figure("strict", *judged)
    assert found.low is not None
    assert found.high is not None
    wide, narrow = (wilson(found.value, n) for n in (len(items), len(judged)))
    assert wide[0] - 1e-9 <= found.low <= narrow[0] + 1e-9
    assert narrow[1] - 1e-9 <= found.high <= wide[1] + 1e-9


def test_the_interval_of_a_share_covers_it_where_epochs_of_an_item_agree() -> None:
    """By counting: of 600 studies with 20 items of 5 epochs, each item's own chance drawn."""
    assert isinstance(SCORE, Score)
    rng, covered = random.Random(5), 0
    for _ in range(600):
        chances = [rng.betavariate(1.8, 0.2) for _ in range(20)]
        items = {str(n): (float(sum(rng.random() < c for _ in range(5))), 5.0)
                 for n, c in enumerate(chances)}  # fmt: skip
        measure = Measure("m", "", parts=lambda score: score.values["m"])
        scores = [(n, Score(SCORE.conduct, {"m": parts})) for n, parts in items.items()]
        found = figures([measure], scores)["m"]
        assert found is not None
        covered += (found.low or 0.0) <= 0.9 <= (found.high or 0.0)
    assert covered >= 0.92 * 600
