"""Rivals: other answers that could have been asked for, over the same names and tools."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import islice
from statistics import mean
from typing import Any

import pytest

from toolhop_tools.worlds import search as searching
from toolhop_tools.worlds.checks import Reason, meaning
from toolhop_tools.worlds.draw import CANDIDATES, Stuck, draw
from toolhop_tools.worlds.expression import (
    Expression,
    Named,
    Pick,
    Total,
    chosen,
    evaluate,
    nodes,
    type_of,
)
from toolhop_tools.worlds.items import RIVALS, Making
from toolhop_tools.worlds.plan import Plan, plan
from toolhop_tools.worlds.search import Explorer, Searched
from toolhop_tools.worlds.spec import parse
from toolhop_tools.worlds.world import Value

SPECS = ("hops=3", "hops=4,joins=all,tools=0", "hops=4-5,near=twins,tools=30,units=yes,codes=yes")


def drawn_questions(making: Making, count: int) -> list[tuple[Expression, Plan]]:
    drawn = random.Random("questions")
    questions: list[tuple[Expression, Plan]] = []
    while len(questions) < count:
        try:
            asked = draw(making.world, making.knobs, drawn)
        except Stuck:
            continue
        way = plan(asked, making.tools)
        if way and not isinstance(meaning(asked, making.world), Reason):
            questions.append((asked, way))
    return questions


def given(asked: Expression) -> Counter[Named | Value]:
    """Names and bounds of a question."""
    names: Counter[Named | Value] = Counter(n for n in nodes(asked) if isinstance(n, Named))
    for node in nodes(asked):
        if isinstance(node, Pick | Total):
            names.update(condition.value for condition in node.conditions)
    return names


@pytest.mark.parametrize("spec", SPECS)
def test_a_rival_could_have_been_asked_for(spec: str) -> None:
    (series,) = parse(f"seed=3,{spec}").specs
    making = Making(series.knobs, f"rivals {spec}", Counter())
    rivals_by_question = 0
    for asked, way in drawn_questions(making, 25):
        offered = [tool.name for tool in making._offered(way, random.Random(1))]
        found = dict(islice(making.rivals.of(asked, offered, len(way.calls), random.Random(2)), 50))
        rivals_by_question += bool(found)
        assert evaluate(asked, making.world) not in found
        for value, rival in found.items():
            assert evaluate(rival, making.world) == value
            assert type_of(rival, making.world) == type_of(asked, making.world)
            assert given(rival) == given(asked)
            made = plan(rival, making.tools, offered)
            assert made is not None
            assert len(made.calls) == len(way.calls)
            assert {call.tool.name for call in made.calls} <= {*offered}
            assert made.run()[-1].value == value
            assert superlatives_choose(rival, making)
    assert rivals_by_question > 12


@pytest.mark.parametrize("spec", SPECS)
def test_superlatives_that_are_drawn_choose_from_several(spec: str) -> None:
    (series,) = parse(f"seed=3,{spec}").specs
    for number in range(4):
        making = Making(series.knobs, f"draws {spec} {number}", Counter())
        for asked, _ in drawn_questions(making, 40):
            assert superlatives_choose(asked, making)


def superlatives_choose(asked: Expression, making: Making) -> bool:
    """Whether each superlative has `CANDIDATES`."""
    return all(
        len(chosen(node, making.world)) >= CANDIDATES
        for node in nodes(asked)
        if isinstance(node, Pick) and node.rank
    )


def test_what_fewer_calls_give_is_no_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    (series,) = parse("seed=3,hops=4,tools=20").specs
    assert next(Making(series.knobs, "fewer", Counter()).kept())
    search = Explorer.search

    def all_fewer(*given: Any, **options: Any) -> Searched:
        return replace(search(*given, **options), fewer=Everything())

    monkeypatch.setattr(Explorer, "search", all_fewer)
    refused = Counter[str]()
    assert not list(Making(series.knobs, "fewer", refused).kept())
    assert refused["types alone give it away"]


def test_a_search_schedules_no_more_calls_than_it_examines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduled = list[object]()
    pending = searching._Pending

    def counted(*given: Any) -> object:
        scheduled.append(given)
        return pending(*given)

    monkeypatch.setattr(searching, "_Pending", counted)
    search, most = Explorer.search, 1

    def short(*given: Any, **options: Any) -> Searched:
        scheduled.clear()
        found = search(*given, **{**options, "most": most})
        assert len(scheduled) <= most * given[-1]  # at each cost
        return found

    monkeypatch.setattr(Explorer, "search", short)
    (series,) = parse("seed=3,hops=5,tools=0").specs
    assert next(Making(series.knobs, "fewer", Counter()).kept())


class Everything(frozenset[Any]):
    def __contains__(self, value: object) -> bool:
        return True


def test_the_question_is_drawn_evenly_from_its_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    """By how many entities superlatives choose from and sums run over."""
    alike: list[Expression] = []
    shuffle = random.Random.shuffle

    def seen(drawn: random.Random, given: list[Any]) -> None:
        shuffle(drawn, given)
        if len(given) == RIVALS + 1 and isinstance(given[0], Expression):
            alike[:] = given

    monkeypatch.setattr(random.Random, "shuffle", seen)
    (series,) = parse("seed=3,hops=3-4").specs
    places: list[float] = []
    drawn = random.Random(1)
    for world in range(5):
        making = Making(series.knobs, f"even {world}", Counter())
        for asked, _ in making.kept():
            sizes = [(rows(each, making), drawn.random()) for each in alike if each is not asked]
            own = (rows(asked, making), drawn.random())
            places.append(sum(size < own for size in sizes) / RIVALS)
            if len(places) % 20 == 0:
                break
    assert len(places) == 100
    assert abs(mean(places) - 0.5) < 0.06


def rows(asked: Expression, making: Making) -> int:
    several = (node for node in nodes(asked) if isinstance(node, Pick | Total))
    return sum(
        len(chosen(node, making.world)) for node in several if isinstance(node, Total) or node.rank
    )


def test_kept_items_have_rivals_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one more wanted than there are of any question, none is kept."""
    monkeypatch.setattr("toolhop_tools.worlds.items.RIVALS", 10**6)
    monkeypatch.setattr("toolhop_tools.worlds.items.DRAWS", 3)
    refused = Counter[str]()
    (series,) = parse("seed=3,hops=3-4").specs
    assert not list(Making(series.knobs, "none", refused).kept())
    assert refused["types alone give it away"]
