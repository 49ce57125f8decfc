"""Against enumeration, scipy's own tests, and studies whose effect is known."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks import studies
from benchmarks.studies import Effect, Study
from toolhop_env.statistics import (
    bootstrap,
    multiple,
    paired,
    passing,
    permutation,
    shares,
)
from toolhop_env.statistics.bootstrap import Interval
from toolhop_env.statistics.tails import rejections

COUNTS = st.integers(0, 60)


# Shares over items


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9))
def test_one_pair_an_item_is_mcnemar_and_tango(gained: int, lost: int, same: int) -> None:
    pairs = [(False, True)] * gained + [(True, False)] * lost + [(True, True)] * same
    found = shares.difference({n: [pair] for n, pair in enumerate(pairs)}, seed=0)
    assert found.p_value == paired.mcnemar_exact(gained, lost)
    assert (found.low, found.high) == paired.score_interval(gained, lost, len(pairs))
    assert (found.one_each, found.resampled) == (True, False)


def test_several_pairs_an_item_count_as_one_in_test_and_interval() -> None:
    ten = {n: [(False, n % 2 == 0)] * 4 for n in range(10)}
    found = shares.difference(ten, seed=0)
    assert found.p_value == 2 / 2**5  # five items changed, not twenty pairs
    assert found.resampled
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high


@pytest.mark.parametrize(
    ("sides", "gained"), [((True, True), 0), ((False, True), 10)], ids=["none", "all"]
)
def test_where_none_or_all_changed_an_item_stands_for_its_epochs(
    sides: tuple[bool, bool], gained: int
) -> None:
    found = shares.difference({n: [sides] * 3 for n in range(10)}, seed=0)
    assert (found.low, found.high) == paired.score_interval(gained, 0, 10)


def test_few_items_that_changed_both_ways_have_no_interval() -> None:
    both = {0: [(False, True)] * 2, 1: [(True, False)] * 2, 2: [(True, True)] * 2}
    found = shares.difference(both, seed=0)
    assert (found.found.difference, found.low, found.high) == (0.0, None, None)


# McNemar


@given(COUNTS, COUNTS)
def test_mcnemar_is_the_binomial_test(gained: int, lost: int) -> None:
    found = paired.mcnemar_exact(gained, lost)
    wanted = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert found == pytest.approx(wanted, rel=1e-9)
    assert found == paired.mcnemar_exact(lost, gained)


@given(st.integers(0, 12), st.integers(0, 12))
def test_mcnemar_is_what_counting_all_coins_gives(gained: int, lost: int) -> None:
    total, gap = gained + lost, abs(gained - lost)
    ways = sum(math.comb(total, k) for k in range(total + 1) if abs(total - 2 * k) >= gap)
    assert paired.mcnemar_exact(gained, lost) == pytest.approx(ways / 2**total)


@given(COUNTS, COUNTS)
def test_mid_p_takes_half_of_the_outcome_itself_away(gained: int, lost: int) -> None:
    mid, exact = paired.mcnemar_mid_p(gained, lost), paired.mcnemar_exact(gained, lost)
    point = stats.binom.pmf(gained, gained + lost, 0.5)
    assert mid == pytest.approx(1.0 if gained == lost else exact - point, abs=1e-9)
    assert 0 <= mid <= exact


# The paired difference


def pairs(gained: int, lost: int, both: int, neither: int) -> list[tuple[bool, bool]]:
    kinds = [((False, True), gained), ((True, False), lost)]
    kinds += [((True, True), both), ((False, False), neither)]
    return [pair for pair, count in kinds for _ in range(count)]


@pytest.mark.parametrize("n", [1, 5, 20, 1000])
def test_interval_without_discordant_pairs_has_a_closed_form(n: int) -> None:
    """The score equation is n delta / (1 - delta) = z**2 there, as in Wilson's interval."""
    limit = 1.959963984540054**2 / (n + 1.959963984540054**2)
    assert paired.score_interval(0, 0, n) == pytest.approx((-limit, limit))


@settings(deadline=None)
@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_interval_holds_the_difference_and_turns_round(
    gained: int, lost: int, both: int, neither: int
) -> None:
    made = pairs(gained, lost, both, neither)
    if not made:
        return
    one = paired.difference(made)
    other = paired.difference([(after, before) for before, after in made])
    assert one.n == len(made)
    assert (one.gained, one.lost) == (gained, lost)
    assert one.difference == pytest.approx(one.after - one.before)
    assert -1 <= one.low <= one.difference + 1e-12
    assert one.difference - 1e-12 <= one.high <= 1
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low), abs=1e-9)
    wider = paired.difference(made, confidence=0.99)
    assert wider.low <= one.low
    assert one.high <= wider.high


@given(st.integers(1, 30), st.integers(0, 30), st.integers(0, 40))
def test_limits_are_where_the_score_test_rejects(gained: int, lost: int, same: int) -> None:
    n = gained + lost + same
    for limit in paired.score_interval(gained, lost, n):
        if abs(limit) > 0.999:
            continue
        chance = _constrained(gained, lost, n, limit)
        variance = (2 * chance + limit * (1 - limit)) / n
        z = ((gained - lost) / n - limit) / math.sqrt(variance)
        assert abs(z) == pytest.approx(1.959964, abs=1e-3)


def _constrained(gained: int, lost: int, n: int, delta: float) -> float:
    """The likeliest share of lost pairs, given the difference, by searching the likelihood."""

    def likelihood(share: float) -> float:
        parts = ((gained, share + delta), (lost, share), (n - gained - lost, 1 - 2 * share - delta))
        return sum(count * math.log(p) if count else 0.0 for count, p in parts)

    low, high = max(0.0, -delta) + 1e-15, (1 - delta) / 2 - 1e-15
    for _ in range(200):
        third = (high - low) / 3
        one, other = low + third, high - third
        if likelihood(one) < likelihood(other):
            low = one
        else:
            high = other
    return (low + high) / 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: paired.difference([]),
        lambda: paired.mcnemar_exact(-1, 2),
        lambda: paired.score_interval(3, 3, 5),
        lambda: paired.difference([(True, False)], confidence=1.0),
        lambda: paired.smallest_detectable(0, 0.1),
        lambda: paired.smallest_detectable(10, 1.5),
        lambda: multiple.holm([0.5, 1.5]),
        lambda: passing.pass_at_k(3, 4, 1),
        lambda: passing.pass_hat_k(3, 2, 4),
        lambda: bootstrap.clustered({}, seed=1),
        lambda: bootstrap.clustered({1: [(0, 1)]}, seed=1, resamples=0),
        lambda: permutation.swap_sums(bootstrap.cluster_sums({}), seed=1),
        lambda: Effect(10, 0.6, 0.6),
    ],
)
def test_what_cannot_be_computed_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        call()


# Power


def test_power_is_what_enumerating_all_outcomes_gives() -> None:
    n, gained, lost = 12, 0.4, 0.1
    wanted = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            ways = math.comb(n, b) * math.comb(n - b, c)
            chance = ways * gained**b * lost**c * (1 - gained - lost) ** (n - b - c)
            wanted += chance * (paired.mcnemar_exact(b, c) <= 0.05)
    found = paired._power(n, gained + lost, gained - lost, rejections(n, 0.05))
    assert found == pytest.approx(wanted)


@settings(deadline=None, max_examples=40)
@given(st.integers(6, 300), st.floats(0, 1))
def test_smallest_detectable_is_where_the_power_is_reached(n: int, share: float) -> None:
    found = paired.smallest_detectable(n, share)
    if math.isinf(found):
        assert paired._power(n, 1.0, 1.0, rejections(n, 0.05)) < 0.8
        return
    assert 0 < found <= 1
    for factor, enough in ((1 + 1e-6, True), (1 - 1e-6, False)):
        delta = min(1.0, found * factor)
        power = paired._power(n, max(share, delta), delta, rejections(n, 0.05))
        assert enough == (power >= 0.8) or power == pytest.approx(0.8, abs=1e-3)


def test_smallest_detectable_shrinks_with_pairs_and_grows_with_noise() -> None:
    by_pairs = [paired.smallest_detectable(n, 0.2) for n in (20, 50, 100, 500, 2000)]
    assert by_pairs == sorted(by_pairs, reverse=True)
    by_noise = [paired.smallest_detectable(100, share) for share in (0.1, 0.2, 0.4, 0.8)]
    assert by_noise == sorted(by_noise)
    assert math.isinf(paired.smallest_detectable(5, 0.3))


# Bootstrap


VALUES = st.dictionaries(
    st.integers(0, 40),
    st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=4),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=50)
@given(VALUES, st.randoms(use_true_random=False))
def test_bootstrap_depends_on_values_alone(
    values: dict[int, list[tuple[float, float]]], rng: random.Random
) -> None:
    find = partial(bootstrap.clustered, seed=3, resamples=200)
    found = find(values)
    flat = [pair for group in values.values() for pair in group]
    mean = math.fsum(after - before for before, after in flat) / len(flat)
    assert found.estimate == pytest.approx(mean, abs=1e-9)
    assert found.low <= found.estimate <= found.high
    keys = list(values)
    rng.shuffle(keys)
    assert find({f"item {key}": values[key] for key in keys}) == found


def test_bootstrap_resamples_clusters_and_not_pairs() -> None:
    rng = np.random.default_rng(1)
    items = {n: [(0.0, float(x))] for n, x in enumerate(rng.normal(size=30))}
    repeated = {n: pair * 10 for n, pair in items.items()}
    alone = {(n, e): pair for n, pair in items.items() for e in range(10)}
    once, many = (bootstrap.clustered(values, seed=1) for values in (items, repeated))
    wrong = bootstrap.clustered(alone, seed=1)
    assert (many.low, many.high) == pytest.approx((once.low, once.high))
    assert wrong.high - wrong.low < 0.5 * (once.high - once.low)


def test_bootstrap_of_many_equals_the_t_interval() -> None:
    values = np.random.default_rng(2).normal(0.3, 1, size=400)
    found = bootstrap.clustered({n: [(0.0, float(x))] for n, x in enumerate(values)}, seed=1)
    wanted = stats.t.interval(0.95, 399, values.mean(), stats.sem(values))
    assert (found.low, found.high) == pytest.approx(wanted, abs=0.01)


def test_ratio_of_sums_is_not_a_mean_of_ratios() -> None:
    values = {1: [((1.0, 10.0), (0.0, 0.0))], 2: [((0.0, 2.0), (3.0, 4.0))]}
    found = bootstrap.of_sums(bootstrap.cluster_sums(values), seed=1, resamples=500)
    assert found.estimate == pytest.approx(3 / 4 - 1 / 12)
    assert isinstance(found, Interval)


# Permutation


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_sign_flip_of_whole_numbers_is_exact(differences: list[int]) -> None:
    assert permutation.sign_flip(differences, seed=1) == pytest.approx(_all_flips(differences))


@given(st.lists(st.floats(-3, 3).map(lambda x: round(x, 2)), max_size=9))
def test_sign_flip_of_few_is_exact(differences: list[float]) -> None:
    found = permutation.sign_flip(differences, seed=1)
    assert found == pytest.approx(_all_flips(differences))


def _all_flips(differences: Sequence[float]) -> float:
    observed = abs(math.fsum(differences))
    ways = list(itertools.product((-1, 1), repeat=len(differences)))
    sums = [abs(math.fsum(s * d for s, d in zip(way, differences, strict=True))) for way in ways]
    return sum(one >= observed - 1e-9 for one in sums) / len(ways)


@given(COUNTS, COUNTS)
def test_sign_flip_of_right_and_wrong_is_mcnemar(gained: int, lost: int) -> None:
    found = permutation.sign_flip([1] * gained + [-1] * lost + [0] * 7, seed=1)
    assert found == pytest.approx(paired.mcnemar_exact(gained, lost))


def test_a_test_does_not_depend_on_the_unit() -> None:
    values = [-1.5, 2.0, 3.0, 4.0, 5.0, 6.0]
    tiny = [value * 1e-12 for value in values]
    sums = [
        bootstrap.cluster_sums({at: [((0.0, 1.0), (value, 1.0))] for at, value in enumerate(made)})
        for made in (values, tiny)
    ]
    assert permutation.sign_flip(tiny, seed=1) == permutation.sign_flip(values, seed=1) == 4 / 64
    assert [permutation.swap_sums(one, seed=1) for one in sums] == [4 / 64] * 2


def test_sign_flip_of_many_is_near_scipys() -> None:
    values = np.random.default_rng(3).normal(0.25, 1, size=60)
    found = permutation.sign_flip(list(values), seed=1, resamples=20_000)
    wanted = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1
    ).pvalue
    assert found == pytest.approx(wanted, abs=0.01)
    assert found == permutation.sign_flip(list(values[::-1]), seed=1, resamples=20_000)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 6), st.integers(0, 3), st.integers(1, 6)),
        min_size=1,
        max_size=7,
    )
)
def test_swapping_items_is_exact(rows: list[tuple[int, int, int, int]]) -> None:
    values = {n: [((b, x), (a, y))] for n, (b, x, a, y) in enumerate(rows)}

    def gap(swaps: Sequence[bool]) -> float:
        turned = [
            (a, y, b, x) if swap else (b, x, a, y)
            for swap, (b, x, a, y) in zip(swaps, rows, strict=True)
        ]
        b, x, a, y = (sum(row[part] for row in turned) for part in range(4))
        return abs(a / y - b / x)

    ways = list(itertools.product((False, True), repeat=len(rows)))
    observed = gap([False] * len(rows))
    wanted = sum(gap(way) >= observed - 1e-9 for way in ways) / len(ways)
    assert permutation.swap_sums(bootstrap.cluster_sums(values), seed=1) == pytest.approx(wanted)


# Several tests


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0.001, 0.2))
def test_holm_rejects_what_stepping_down_rejects(p_values: list[float], alpha: float) -> None:
    found = multiple.holm(p_values)
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    rejected = set()
    for rank, index in enumerate(order):
        if (len(p_values) - rank) * p_values[index] > alpha:
            break
        rejected.add(index)
    assert {n for n, p in enumerate(found) if p <= alpha} == rejected
    assert all(before <= after <= 1 for before, after in zip(p_values, found, strict=True))


# pass@k and pass^k


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.data())
def test_pass_is_the_share_of_all_choices(case: tuple[int, int], data: st.DataObject) -> None:
    n, c = case
    k = data.draw(st.integers(1, n))
    choices = list(itertools.combinations([True] * c + [False] * (n - c), k))
    some = sum(any(one) for one in choices) / len(choices)
    every = sum(all(one) for one in choices) / len(choices)
    assert passing.pass_at_k(n, c, k) == pytest.approx(some)
    assert passing.pass_hat_k(n, c, k) == pytest.approx(every)


def test_pass_over_items_has_the_error_of_a_mean() -> None:
    tries = [(4, 4), (4, 2), (4, 0), (4, 1), (2, 2)]
    found = passing.over_items(tries, 3, passing.pass_at_k)
    assert found is not None
    each = [passing.pass_at_k(n, c, 3) for n, c in tries[:4]]
    assert (found.k, found.items) == (3, 4)
    assert found.value == pytest.approx(np.mean(each))
    assert found.stderr == pytest.approx(stats.sem(each))
    assert passing.over_items(tries, 9, passing.pass_at_k) is None
    alone = passing.over_items([(2, 1)], 1, passing.pass_hat_k)
    assert alone is not None
    assert (alone.value, alone.stderr) == (0.5, None)


# Studies with a known effect


def one_each(study: Study) -> tuple[float, float]:
    found = paired.difference(studies.pooled(study))
    return found.low, found.high


def resampled(study: Study) -> tuple[float, float]:
    found = bootstrap.clustered(study, seed=1, resamples=1000)
    return found.low, found.high


def mcnemar(study: Study) -> float:
    return paired.difference(studies.pooled(study)).p_value


def flipped(study: Study) -> float:
    sums = [sum(after - before for before, after in one) for one in study.values()]
    return permutation.sign_flip(sums, seed=1)


def as_ratio(study: Study) -> float:
    values = {
        item: [((float(b), 1.0 + b), (float(a), 1.0 + a)) for b, a in one]
        for item, one in study.items()
    }
    return permutation.swap_sums(bootstrap.cluster_sums(values), seed=1, resamples=200)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("effect", "interval"),
    [
        (Effect(20, 0.15, 0.15), one_each),
        (Effect(20, 0.3, 0.1), one_each),
        (Effect(43, 0.2, 0.05), one_each),
        (Effect(100, 0.05, 0.05), one_each),
        (Effect(20, 0.2, 0.05, epochs=4, noise=0.1), resampled),
        (Effect(30, 0.1, 0.1, epochs=3, noise=0.1), resampled),
    ],
)
def test_intervals_hold_their_level(
    effect: Effect, interval: Callable[[Study], tuple[float, float]]
) -> None:
    found = studies.coverage(effect, interval, count=1000, seed=1)
    assert 0.93 <= found.share <= 0.97


@pytest.mark.parametrize("items", [20, 40])
@pytest.mark.parametrize("gained", [0.01, 0.04])
def test_intervals_claim_no_more_than_their_level_where_little_changes(
    items: int, gained: float
) -> None:
    found = studies.coverage(Effect(items, gained, 0.02), one_each, count=1000, seed=1)
    assert found.share >= 0.93


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("effect", "test"),
    [
        (Effect(20, 0.15, 0.15), mcnemar),
        (Effect(100, 0.2, 0.2), mcnemar),
        (Effect(20, 0.1, 0.1, epochs=3, noise=0.2), flipped),
        (Effect(43, 0.2, 0.2, epochs=2, noise=0.1), flipped),
        (Effect(12, 0.2, 0.2, epochs=2), as_ratio),
    ],
)
def test_no_effect_is_seldom_seen(effect: Effect, test: Callable[[Study], float]) -> None:
    assert studies.rejections(effect, test, count=1000, seed=1).share <= 0.05


def test_an_effect_of_the_smallest_detectable_size_is_seen_in_four_of_five() -> None:
    share, n = 0.3, 80
    delta = paired.smallest_detectable(n, share)
    effect = Effect(n, (share + delta) / 2, (share - delta) / 2)
    assert effect.difference == pytest.approx(delta)
    found = studies.rejections(effect, mcnemar, count=1000, seed=1)
    assert found.share == pytest.approx(0.8, abs=0.04)


def test_epochs_taken_for_items_would_see_what_is_not_there() -> None:
    effect = Effect(20, 0.2, 0.2, epochs=4, noise=0.05)
    assert studies.rejections(effect, mcnemar, count=300, seed=1).share > 0.1
    assert studies.coverage(effect, one_each, count=300, seed=1).share < 0.85
