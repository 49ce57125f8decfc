"""Agreement of two judges: known values, and intervals that hold their level."""

from __future__ import annotations

import random

import pytest

from toolhop_env.statistics.agreement import agreement
from toolhop_env.statistics.effective import effective
from toolhop_env.statistics.wilson import wilson, wilson_upper


def spread(counts: dict[tuple[str, str], int], items: int) -> dict[str, list[tuple[str, str]]]:
    """The verdicts of counts, dealt to items in turn."""
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    return {f"item-{n}": pairs[n::items] for n in range(items)}


def test_a_textbook_table() -> None:
    """50 grants judged by two readers: agreement 0.7, by chance 0.5, so kappa is 0.4."""
    counts = {("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15}
    found = agreement(spread(counts, 50), seed=0)
    assert (found.questions, found.items, found.confusion) == (50, 50, counts)
    assert found.accuracy == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.kappa_limits is not None
    # The large-sample standard error of kappa is 0.127 here (Fleiss, Cohen, Everitt 1969).
    assert found.kappa_limits == pytest.approx((0.13, 0.65), abs=0.04)
    assert found.accuracy_limits == pytest.approx((0.57, 0.83), abs=0.03)


def test_questions_of_one_item_are_not_independent() -> None:
    """A hundred copies of ten items tell what the ten tell."""
    few = {str(n): [("a", "a") if n % 3 else ("a", "b")] for n in range(30)}
    copied = {name: pairs * 100 for name, pairs in few.items()}
    assert agreement(few, seed=1).accuracy_limits == agreement(copied, seed=1).accuracy_limits


def test_without_spread_accuracy_has_an_interval_and_kappa_none() -> None:
    same = agreement({str(n): [("a", "a")] for n in range(20)}, seed=0)
    assert (same.accuracy, same.kappa, same.kappa_limits) == (1.0, None, None)
    assert same.accuracy_limits == pytest.approx((0.839, 1.0), abs=1e-3)
    both = agreement({str(n): [("a", "a"), ("b", "b")] for n in range(20)}, seed=0)
    assert (both.kappa, both.kappa_limits) == (1.0, None)
    with pytest.raises(ValueError, match="no verdicts"):
        agreement({"a": []}, seed=0)


def test_names_and_order_of_items_change_nothing() -> None:
    counts = {("y", "y"): 9, ("y", "n"): 4, ("n", "n"): 7}
    one = spread(counts, 12)
    other = {f"x{name}": pairs for name, pairs in reversed(one.items())}
    assert agreement(one, seed=3) == agreement(other, seed=3)


def test_intervals_hold_their_level() -> None:
    """200 made studies of 40 items with two questions each: near 95 % of intervals hold kappa."""
    rng = random.Random(5)
    true, held = 0.6, 0  # each agrees by chance in half, and else always
    for _ in range(200):
        verdicts = {}
        for n in range(40):
            pairs = []
            for _ in range(2):
                gold = rng.choice("yn")
                pairs.append((gold, gold if rng.random() < true else rng.choice("yn")))
            verdicts[str(n)] = pairs
        limits = agreement(verdicts, seed=1, resamples=400).kappa_limits
        held += limits is not None and limits[0] <= true <= limits[1]
    assert 180 <= held <= 199


def test_wilson() -> None:
    assert wilson(139 / 150, 150) == pytest.approx((0.87346, 0.95856), abs=1e-4)


def test_the_upper_bound_of_a_share() -> None:
    assert wilson_upper(0, 60) == pytest.approx(0.0431, abs=1e-4)
    assert wilson_upper(0, 60, confidence=0.975) == pytest.approx(wilson(0, 60)[1])
    assert wilson_upper(3, 60) > 3 / 60
    for count, trials in ((1, 0), (2, 1), (-1, 3)):
        with pytest.raises(ValueError, match="give at least one trial"):
            wilson_upper(count, trials)


def votes(*rows: str) -> list[dict[str, bool]]:
    """An item a row, a reader a letter: y, n, or - for no vote."""
    return [
        {str(at): letter == "y" for at, letter in enumerate(row) if letter != "-"} for row in rows
    ]


def test_readers_who_err_alike_are_worth_one() -> None:
    alike = effective(votes("yyy", "nnn", "yyy"))
    assert (alike.readers, alike.items, alike.number) == (3, 3, 1.0)
    # All four combinations once: nobody goes with anybody.
    apart = effective(votes("yy", "yn", "ny", "nn"))
    assert (apart.correlation, apart.number) == (0.0, 2.0)
    between = effective(votes("yy", "yy", "nn", "yn"))
    assert between.correlation == pytest.approx(1 / 3**0.5)
    assert between.number == pytest.approx(2 / (1 + 1 / 3**0.5))
    # Who errs where the others do not is worth no more than one more reader.
    assert effective(votes("yn", "ny")).number == 2.0


def test_votes_that_do_not_vary_tell_nothing() -> None:
    assert effective(votes("yyy", "yyy")).number is None
    assert "not known" in str(effective(votes("yy", "yy")))
    assert effective(votes("y", "n")).number == 1.0
    # A pair whose votes do not vary is left out; the others count.
    assert effective(votes("yy-", "nn-", "-yy")).number == 1.0
