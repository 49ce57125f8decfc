"""The second engine: same values as `evaluate`, and none where there is none."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.worlds.sampling import Sampler
from tests.worlds.small import SMALL
from toolhop_tools.worlds.domain import domains
from toolhop_tools.worlds.expression import (
    Condition,
    Expression,
    Follow,
    Gap,
    Link,
    Named,
    Pick,
    Rank,
    Read,
    Spelled,
    Sum,
    Text,
    Total,
    Undefined,
    Which,
    evaluate,
)
from toolhop_tools.worlds.expression import Test as Compared  # pytest collects names in Test*
from toolhop_tools.worlds.sql import Database
from toolhop_tools.worlds.world import Row, Value, World, make


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


ON_ULM = (Link("river", Named("river", "Ulm"), "river"),)
BELOW_LIN = (Link("hills", Named("hill", "Lin"), "hill"),)
BY_OST = (Link("hills", Named("town", "Ost"), "town", backward=True),)
OF_OST = Link("river", Named("town", "Ost"), "town", backward=True)
TWO_ON_ULM = Pick("town", ON_ULM, (Condition("people", Compared.ABOVE, 2),))


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        (Named("river", "Ulm"), "Ulm"),
        (Named("river", "Ost"), None),
        (Follow("town", "river", Named("town", "Rin")), "Vod"),
        (Pick("town", ON_ULM, rank=Rank("people", most=True)), "Ost"),
        (Pick("town", ON_ULM, rank=Rank("people", most=False)), "Pol"),
        (Pick("town", ON_ULM, rank=Rank("founded", most=True)), None),
        (Pick("town", ON_ULM, (Condition("people", Compared.BELOW, 4),)), "Pol"),
        (Pick("town", ON_ULM, (Condition("people", Compared.IS, 4),)), "Sal"),
        (TWO_ON_ULM, None),
        (Pick("town", ON_ULM, (Condition("people", Compared.ABOVE, 7),)), None),
        (Pick("town", ON_ULM + BELOW_LIN), "Ost"),
        (Pick("hill", BY_OST, rank=Rank("height", most=True)), "Kar"),
        (Pick("river", (OF_OST,)), "Ulm"),
        (Read("town", "people", TWO_ON_ULM), None),
        (Pick("hill", (Link("hills", TWO_ON_ULM, "town", backward=True),)), None),
        (Which("town", "people", True, Named("town", "Pol"), Named("town", "Sal")), "Sal"),
        (Which("town", "people", False, Named("town", "Pol"), Named("town", "Sal")), "Pol"),
        (Which("town", "people", True, Named("town", "Pol"), Named("town", "Rin")), None),
        (Which("town", "people", True, Named("town", "Pol"), Named("town", "Pol")), None),
        (Which("town", "people", True, Named("town", "Pol"), TWO_ON_ULM), None),
        (Read("hill", "charted", Named("hill", "Mur")), "1799-12-31"),
        (Read("hill", "height", Named("hill", "Lin"), "feet"), 9.8),
        (Spelled(Text.INITIALS, "town", TWO_ON_ULM), None),
        (Spelled(Text.INITIALS, "town", Named("town", "Rin")), "R"),
        (Gap("hill", "height", Named("hill", "Lin"), Named("hill", "Kar")), 4),
        (Gap("hill", "charted", Named("hill", "Kar"), Named("hill", "Lin")), 1097),
        (Gap("town", "founded", Named("town", "Ost"), Named("town", "Pol")), None),
        (Total("town", Sum.COUNT, "", ON_ULM), 3),
        (Total("town", Sum.TOTAL, "people", ON_ULM), 13),
        (Total("town", Sum.MEAN, "people", ON_ULM), 4.3),
        (Total("town", Sum.MEAN, "people", ()), 3.8),
        (Total("town", Sum.TOTAL, "people", ON_ULM, (Condition("people", Compared.IS, 7),)), None),
    ],
    ids=str,
)
def test_each_node_means_what_it_says(asked: Expression, value: Value | None) -> None:
    assert (in_python(asked, SMALL), in_sql(asked, Database(SMALL))) == (value, value)


@pytest.mark.parametrize(("twentieths", "mean"), [(5, 0.2), (7, 0.4), (15, 0.8), (8, 0.4)])
def test_a_half_is_rounded_to_even(twentieths: int, mean: float) -> None:
    """Of the exact value: 0.35 is less than seven twentieths as a float."""
    rows: dict[str, Row] = {
        f"T{at}": {"river": "Ulm", "hills": (), "people": int(at < twentieths), "founded": 1300}
        for at in range(20)
    }
    world = World(SMALL.domain, SMALL.tables | {"town": rows})
    asked = Total("town", Sum.MEAN, "people", ON_ULM)
    assert (in_python(asked, world), in_sql(asked, Database(world))) == (mean, mean)


@pytest.mark.parametrize("name", domains())
def test_both_engines_give_each_expression_the_same_value(name: str) -> None:
    drawn = random.Random(name)
    of_node = Counter[str]()
    for seed in range(2):
        world = make(domains()[name], f"{seed}", f"{seed}")
        database, sampler = Database(world), Sampler(world, drawn)
        for _ in range(400):
            asked = sampler.expression(drawn.randint(0, 4))
            value = in_python(asked, world)
            assert (asked, in_sql(asked, database)) == (asked, value)
            of_node[f"{type(asked).__name__} {value is not None}"] += 1
    assert all(
        of_node[f"{node} {known}"]
        for node in ("Read", "Gap", "Total", "Spelled", "Pick", "Which", "Follow")
        for known in (True, False)
    ), of_node
