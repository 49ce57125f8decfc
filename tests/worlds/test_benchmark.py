"""The named benchmark: what its name stands for never changes."""

from __future__ import annotations

from collections import Counter

import pytest

from toolhop_tools.errors import BadChoice
from toolhop_tools.load import load
from toolhop_tools.worlds.items import VERSION, Making, seed_of
from toolhop_tools.worlds.spec import BENCHMARKS, parse

NAME = "worlds-2026.11"
FIRST = (
    "b5548f3777337bca3530dba82d2c8498864aea3a3986ff6fcaa2a622aa5b1097",
    "5a6fde73271b69fff1244f7db7f81cebed2754dabbd10443b8cb27dd1b86c6e6",
    "3cf15693e6e6502be16d0009832ec27787b37e5916332b53dc9ed88d5c11776e",
    "e7ed3523ec9024823fc05a0f087f7cc20b963284f01c2e7535f81fe8805af3b4",
    "c00a2cdbd7cab530579a50edb35fa185568c787a348f3b7e824682fb30c22e34",
)
"""Digests of the first item of each tier, before it gets its id."""


def test_the_generator_makes_the_benchmarks_items_as_when_it_was_named() -> None:
    """Where this fails, `VERSION` goes up, and the benchmark's name stays with the old one."""
    assert BENCHMARKS[NAME].generator == VERSION
    made = [
        next(Making(spec.knobs, seed_of(spec, 0), Counter()).kept())[1].digest
        for spec in parse(NAME).specs
    ]
    assert tuple(made) == FIRST


def test_a_name_gives_five_tiers_and_nothing_else_is_set() -> None:
    data = load(f"worlds:{NAME}")
    assert len(data.items) == 500
    assert [spec.items for spec in parse("2026.11").specs] == [100] * 5
    assert [spec.tier for spec in parse(f"{NAME},tier=2-3").specs] == [2, 3]
    with pytest.raises(BadChoice, match="is fixed"):
        parse(f"{NAME},tools=3")
