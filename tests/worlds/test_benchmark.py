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
    "8f0cde899c0e93ed3f36cf43d123bdd8af025b3f49ae3216bd4caacd8d146279",
    "c41ce20dbc9415186af57c6e6b6cb2536eec09d1e4b145650c3934ce1c5267ed",
    "ad6e7762e0ac5ae00fa9da47c97d68efb2e140945050aeff054c57cca440137f",
    "b9de7ed85c00e8a14022e62aebb4f9db44a048ad0fd38f408a2025acf03c8d54",
    "7fc6980fbaaa8faca55d1ee6c20ea6a8ca8229a773ebea62392ea92e45cce469",
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
