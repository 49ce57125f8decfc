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
    "9b413fa5ce1c5f4ffa005e387c4f44157fbc2e48d4a2ad7eeb30258f07c37182",
    "f1f4f4854fc9e60806cbad0b62daa75d8323de72bb001a8fae08ea941d0d4f99",
    "1281c13d390480ab83368a877123a9bea17a22a732a92508d4c1552dc0bfe072",
    "9c9be97d0eb0f696e80c8dcd659e0360a2af8e17fa17c02b0b70d8afbe54c0ec",
    "07e147541e2f6ce5c2e957a598c9b22c4ca1c61f56186d2d81741f167c82c462",
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
