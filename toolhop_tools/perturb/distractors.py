"""Distractors: tools of other items, added to an item's own."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from enum import StrEnum

from toolhop_tools.errors import BadChoice
from toolhop_tools.model import Item, Tool
from toolhop_tools.perturb.change import drawn
from toolhop_tools.perturb.nearest import Nearest

LEAST_DISTANCE = 0.2
"""Minimum edit distance of a distractor's name from each name of the item, relative to the
length of the latter: the rule of NesTools' code (inference/build_test_prompt; its paper says "a
certain distance")."""


class Choice(StrEnum):
    """A way of choosing distractors."""

    NEAREST = "nearest"
    """The tools whose text is most similar to that of any of the item's tools."""
    RANDOM = "random"
    EACH = "each"
    """As in NesTools' prompts: the N most similar tools for each tool of the item, without
    repetition and without names close to any of the item's."""


def distracted(item: Item, pool: Nearest, count: int, choice: Choice, seed: int) -> Item:
    """Insert tools of a pool at random places; the item's own keep their order.

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
    """Return the nearest `count` tools for each tool of an item, as for `Choice.EACH`.

    There are fewer if the pool has no more. Tools with a name in `without` are skipped.
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
    """Whether a name is far enough from all the given names."""
    return all(_edits(one, name) >= LEAST_DISTANCE * len(one) for one in names)


def _edits(one: str, other: str) -> int:
    """Return the Levenshtein distance of two texts."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, start=1):
        before, row = row, [number]
        for place, found in enumerate(other):
            row.append(min(row[-1] + 1, before[place + 1] + 1, before[place] + (letter != found)))
    return row[-1]
