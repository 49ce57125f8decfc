"""The second engine: same values as `evaluate`, and none where there is none."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.worlds.sampling import Sampler
from toolhop_tools.worlds.domain import domains
from toolhop_tools.worlds.expression import Expression, Undefined, evaluate
from toolhop_tools.worlds.sql import Database
from toolhop_tools.worlds.world import Value, World, make


def in_python(asked: Expression, world: World) -> Value | None:
    try:
        return evaluate(asked, world)
    except Undefined:
        return None


def in_sql(asked: Expression, database: Database) -> Value | None:
    try:
        return database.value(asked)
    except Undefined:
        return None


@pytest.mark.parametrize("name", domains())
def test_both_engines_give_each_expression_the_same_value(name: str) -> None:
    drawn = random.Random(name)
    of_node = Counter[str]()
    for seed in range(3):
        world = make(domains()[name], f"{seed}", f"{seed}")
        database, sampler = Database(world), Sampler(world, drawn)
        for _ in range(400):
            asked = sampler.expression(drawn.randint(0, 4))
            value = in_python(asked, world)
            assert (asked, in_sql(asked, database)) == (asked, value)
            of_node[f"{type(asked).__name__} {value is not None}"] += 1
    assert (
        min(
            of_node[f"{node} {known}"]
            for node in ("Read", "Gap", "Total", "Pick", "Which", "Follow")
            for known in (True, False)
        )
        >= 2
    ), of_node
