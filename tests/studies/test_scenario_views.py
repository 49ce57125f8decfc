"""Partial views of scenarios: a cue that is planted is found, and none where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from studies import scenario_views as views
from tests.env import scenes
from toolhop_tools.model import Item
from toolhop_tools.scenarios.label import label_of, labelled

FAMILIES = 40


def items(cue: Callable[[Item, bool], Item] | None = None) -> list[Item]:
    """Pairs of a solvable and an unsolvable item that ask the same, each of a family of its own."""
    found: list[Item] = []
    for number in range(FAMILIES):
        for one in (scenes.plain(), scenes.missing()):
            label = replace(label_of(one.gold), family=f"f{number}")
            asked = f"{one.question} {number % 7} of {number % 5}."
            order = scenes.plain().order
            made = labelled(replace(one, question=asked, order=order), label, one.id + str(number))
            found.append(cue(made, label.solvable) if cue else made)
    return found


def hedged(item: Item, solvable: bool) -> Item:
    return item if solvable else replace(item, question=f"{item.question} Or a certain one?")


def short(item: Item, solvable: bool) -> Item:
    return item if solvable else replace(item, order=item.order[1:])


CUES = {"question alone": hedged, "tools alone": short, "form alone": short}


@pytest.mark.parametrize("view", views.VIEWS)
def test_a_cue_is_found_by_the_view_that_shows_it(view: str) -> None:
    for made, told in ((items(CUES[view]), True), (items(), False)):
        best = 0.0
        for learner in views.LEARNERS.values():
            rows = views.guessed(made, views.VIEWS[view], learner, 0)
            best = max(best, views.interval(rows, 200, 0)[1])
        assert (best > 0.9) == told
        assert (best > views.MOST) == told


def test_shallow_policies_are_scored_as_episodes() -> None:
    table = {line[:34].strip(): line[34:].split() for line in views.lines(items())}
    assert table["always answer"][:3] == ["50.0", "100.0", "0.0"]
    assert table["change tools, then give up"][:3] == ["50.0", "0.0", "100.0"]
    assert table["ask, change and give up at once"][:3] == ["0.0", "0.0", "0.0"]
