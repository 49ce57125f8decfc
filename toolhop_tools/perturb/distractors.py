"""Tools of other items among the item's own."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from enum import StrEnum

from toolhop_tools.errors import BadChoice
from toolhop_tools.model import Item, Tool
from toolhop_tools.perturb.change import drawn
from toolhop_tools.perturb.nearest import Nearest

LEAST_DISTANCE = 0.2
"""Of a distractor's name from each of the item's, in edits by the length of the item's name: the
rule of NesTools' code (inference/build_test_prompt; its paper says "a certain distance")."""


class Choice(StrEnum):
    """Which of the other tools are taken."""

    NEAREST = "nearest"
    """Those most like any of the item's tools by their text."""
    RANDOM = "random"
    EACH = "each"
    """As NesTools' prompts have them: so many for each tool of the item, those most like it, none
    twice, and none whose name is close to one of the item's."""


def distracted(item: Item, pool: Nearest, count: int, choice: Choice, seed: int) -> Item:
    """The item with tools of a pool at random places; its own keep their order.

    Raises:
        BadChoice: the pool has too few other tools for the item.
    """
    rng = drawn(seed, item, "distractors")
    wanted = count * (len(item.tools) if choice is Choice.EACH else 1)
    if choice is Choice.EACH:
        chosen = for_each(pool, item, count)
    else:
        chosen = list(pool.others(item))
        random = choice is Choice.RANDOM and len(chosen) >= wanted
        chosen = rng.sample(chosen, wanted) if random else chosen[:wanted]
    if len(chosen) < wanted:
        raise BadChoice(
            f"item {item.id} cannot get {wanted} distractors: the data set has "
            f"{len(chosen)} tools of other items that fit and are not its own",
            fix="ask for fewer, or play a larger data set",
        )
    order = [*item.tools]
    for tool in chosen:
        order.insert(rng.randint(0, len(order)), tool.name)
    return replace(item, others=(*item.others, *chosen), order=tuple(order))


def for_each(pool: Nearest, item: Item, count: int, without: Container[str] = ()) -> list[Tool]:
    """The nearest `count` tools for each tool of an item, as `Choice.EACH` has it; fewer where the
    pool has no more, and none of those called by a name in `without`.
    """
    chosen: dict[str, Tool] = {}
    for number, own in enumerate(item.tools.values(), start=1):
        for tool in pool.others(item, [own]):
            if len(chosen) == count * number:
                break
            fits = tool.name not in without and unlike(tool.name, [*item.tools])
            if fits and tool.name.casefold() not in chosen:
                chosen[tool.name.casefold()] = tool
    return list(chosen.values())


def unlike(name: str, names: Sequence[str]) -> bool:
    """Whether a name is far enough from each of some names."""
    return all(_edits(one, name) >= LEAST_DISTANCE * len(one) for one in names)


def _edits(one: str, other: str) -> int:
    """Letters to insert, delete or replace to make one text of the other (Levenshtein)."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, start=1):
        before, row = row, [number]
        for place, found in enumerate(other):
            row.append(min(row[-1] + 1, before[place + 1] + 1, before[place] + (letter != found)))
    return row[-1]
