"""Tails of distributions against scipy's, over a wide grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from toolhop_env.statistics import tails

MANY = 3000


@pytest.mark.parametrize("tosses", [0, 1, 2, 5, 20, 61, 200, 1000, 5000])
def test_fair_coin_is_the_binomial_distribution(tosses: int) -> None:
    for most in {0, 1, 2, tosses // 4, tosses // 2, tosses - 1, tosses} & set(range(tosses + 1)):
        wanted = float(special.bdtr(most, tosses, 0.5))
        assert tails.fair_coin(most, tosses) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("alpha", [0.9, 0.2, 0.05, 0.01, 0.001])
def test_rejections_are_the_largest_counts_below_the_level(alpha: float) -> None:
    limits = tails.rejections(400, alpha)
    assert limits[0] == -1
    for tosses in range(1, 401):
        most = int(limits[tosses])
        assert most < 0 or 2 * special.bdtr(most, tosses, 0.5) <= alpha * (1 + 1e-12)
        assert 2 * special.bdtr(most + 1, tosses, 0.5) > alpha * (1 - 1e-12)


@pytest.mark.parametrize("chance", [0.0, 1e-6, 0.03, 0.3, 0.5, 0.55, 0.9, 1 - 1e-6, 1.0])
def test_chances_up_to_a_rising_limit_are_the_binomial_distribution(chance: float) -> None:
    limits = tails.rejections(MANY, 0.05)
    tosses = np.arange(MANY + 1)
    # scipy has no chance of at most -1 heads.
    wanted = np.where(limits < 0, 0.0, special.bdtr(np.maximum(limits, 0), tosses, chance))
    assert tails.at_most(limits, chance) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("chance", [0.0, 0.01, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("tosses", [1, 2, 30, MANY])
def test_exact_counts_are_the_binomial_distribution(tosses: int, chance: float) -> None:
    heads = np.arange(tosses + 1)
    wanted = np.diff(special.bdtr(heads, tosses, chance), prepend=0.0)
    found = tails.exactly(heads, np.full(tosses + 1, tosses), chance)
    assert found == pytest.approx(wanted, abs=1e-11)
    outside = tails.exactly(np.array([-1, tosses + 1]), np.array([tosses, tosses]), chance)
    assert outside.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999])
def test_students_t_is_its_quantile(confidence: float) -> None:
    for freedom in (*range(1, 40), 99, 100, 999, 1000, 10_001):
        wanted = float(special.stdtrit(freedom, (1 + confidence) / 2))
        assert tails.students_t(confidence, freedom) == pytest.approx(wanted, rel=1e-9)
