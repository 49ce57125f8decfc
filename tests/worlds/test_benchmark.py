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
    "d6ddf7f485437abd07e835d061ff896a2de7068e457cd964fec9e959d53581b8",
    "0bbbb10d25013ab1662ca2bebd00ccea2ca9265c37e5459e678f0c279bdcfa29",
    "b59f4181bab012a996a7c2b862b0ed8978cfda94a5a6a15f978ee5e3655fb294",
    "c45151ac4c15106aa8ccb8ea77f94a028ba02260d5304eac169a4db2cbf7bf66",
    "f5b146021d383cdc2b90c0aab12e7b29e4428560baa81495aed28e2047813e5e",
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
