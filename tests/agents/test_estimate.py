"""What the rest of a run will cost: expected totals, and intervals that hold their level."""

from __future__ import annotations

import pytest

from benchmarks.estimates import SHAPES, held
from tests.env.made import attempt
from toolhop_agents.runs.estimate import NothingToGoBy, estimate
from toolhop_agents.runs.job import spread
from toolhop_env.attempt import Attempt
from toolhop_env.score import Conduct, Score
from toolhop_env.trace import Ending


def judged(
    item: str, tokens: int, mode: str = "free", *, cost: float | None = 0.5, turns: int = 4
) -> Attempt:
    conduct = Conduct(
        ending=Ending.ANSWERED, turns=turns, calls=3, errors={}, repairable=0, input_tokens=tokens,
        output_tokens=7, cost_usd=cost, wall_s=2.0, tool_s=0.1, retries=1,
    )  # fmt: skip
    return attempt(item, Score(conduct, {"strict": (1.0, 1.0)}), mode=mode)


def test_equal_episodes_leave_no_doubt() -> None:
    made = estimate(
        [judged(str(n), 100) for n in range(5)], {"free": 95}, items_left=95, at_a_time=10, seed=0
    )
    assert (made.items, made.episodes, made.errored) == (5, 95, 0)
    assert made.requests.low == made.requests.expected == made.requests.high == 95 * 5
    assert made.input_tokens.expected == 9500
    assert made.cost_usd is not None
    assert made.cost_usd.expected == pytest.approx(47.5)
    assert made.seconds.expected == pytest.approx(19)


def test_few_episodes_take_no_less_than_one_of_them() -> None:
    made = estimate(
        [judged(str(n), 100) for n in range(5)], {"free": 2}, items_left=2, at_a_time=10, seed=0
    )
    assert made.seconds.low == made.seconds.high == pytest.approx(2)


def test_every_mode_has_its_own_mean() -> None:
    some = [judged("1", 10, "free"), judged("1", 1000, "direct")]
    some += [judged("2", 30, "free"), judged("2", 3000, "direct")]
    made = estimate(some, {"free": 10, "direct": 1}, items_left=10, at_a_time=1, seed=0)
    assert made.input_tokens.expected == 10 * 20 + 2000
    made = estimate(some, {"free": 10, "direct": 0}, items_left=10, at_a_time=1, seed=0)
    assert made.input_tokens.expected == 200


def test_nothing_left_costs_nothing_and_nothing_played_tells_nothing() -> None:
    made = estimate([], {"free": 0}, items_left=0, at_a_time=1, seed=0)
    assert made.requests.high == made.seconds.high == made.episodes == 0
    errored = attempt("1", mode="free")
    with pytest.raises(NothingToGoBy):
        estimate([errored], {"free": 3}, items_left=3, at_a_time=1, seed=0)
    made = estimate(
        [errored, judged("2", 5), judged("3", 5)], {"free": 3}, items_left=3, at_a_time=1, seed=0
    )
    assert (made.errored, made.items) == (1, 2)


def test_no_more_is_asked_than_turns_allow() -> None:
    some = [judged("1", 100, turns=1), judged("2", 100, turns=8)]
    free = estimate(some, {"free": 50}, items_left=50, at_a_time=1, seed=0)
    assert (free.requests.high or 0) > 50 * 9
    made = estimate(some, {"free": 50}, items_left=50, at_a_time=1, seed=0, turn_limit=9)
    assert made.requests.high == 50 * 9
    assert made.input_tokens == free.input_tokens


def test_one_unknown_price_makes_the_cost_unknown_and_nothing_else() -> None:
    some = [judged("1", 10), judged("2", 20, cost=None)]
    made = estimate(some, {"free": 4}, items_left=4, at_a_time=1, seed=0)
    assert made.cost_usd is None
    assert made.input_tokens.expected == 60
    assert made.input_tokens.low is not None
    assert made.input_tokens.low < 60 < (made.input_tokens.high or 0)


@pytest.mark.heavy
@pytest.mark.parametrize("shape", [name for name in SHAPES if not name.startswith("rare")])
@pytest.mark.parametrize("pilots", [5, 20])
def test_the_interval_holds_its_level(shape: str, pilots: int) -> None:
    share, width = held(SHAPES[shape], pilots, 200, count=150)
    assert share >= 0.83
    assert width < (60 if pilots == 5 else 6)


def test_one_item_tells_no_interval_and_costs_of_nothing_do_no_harm() -> None:
    made = estimate([judged("1", 10)], {"free": 4}, items_left=4, at_a_time=2, seed=0)
    assert (made.input_tokens.expected, made.input_tokens.low, made.seconds.high) == (
        40,
        None,
        None,
    )
    some = [judged(str(n), 0 if n else 50, cost=0.0) for n in range(4)]
    made = estimate(some, {"free": 4}, items_left=4, at_a_time=2, seed=0)
    assert made.input_tokens.low is not None
    assert made.input_tokens.low < 50 < (made.input_tokens.high or 0)
    assert made.cost_usd is not None
    assert (made.cost_usd.low, made.cost_usd.high) == (0, 0)


def test_epochs_of_an_item_are_no_further_items() -> None:
    """The same tokens over as many episodes are less certain where they are of fewer items."""
    some = [judged(str(n), 100 + 40 * n) for n in range(5)]
    wide, narrow = (
        estimate(some, {"free": 300}, items_left=items, at_a_time=1, seed=0).input_tokens
        for items in (10, 300)
    )
    assert wide.low is not None
    assert narrow.low is not None
    assert wide.low < narrow.low < narrow.expected == pytest.approx(wide.expected)


def test_a_sample_is_spread_over_the_data_and_the_same_for_a_seed() -> None:
    ids = [f"i{number}" for number in range(100)]
    for seed in range(20):
        chosen = spread(ids, 10, seed)
        assert sorted(int(one[1:]) // 10 for one in chosen) == list(range(10))
        assert chosen == spread(ids, 10, seed)
    assert len({spread(ids, 5, seed) for seed in range(20)}) > 10
    assert spread(ids[:3], 5, 0) == frozenset(ids[:3])
