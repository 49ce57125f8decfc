"""Tools of other items in the place of the item's own, as RelyToolBench has them."""

from __future__ import annotations

from dataclasses import replace

from toolhop_sandbox.base import Program
from toolhop_tools.model import EpisodeAction, Item, Tool
from toolhop_tools.scenarios.label import Label, Scenario
from toolhop_tools.scenarios.scene import (
    Drafts,
    Reason,
    Scene,
    answered,
    held_back,
    shown,
    unsolvable,
)


def reserve(scene: Scene, seed: int) -> Drafts:
    """As `unmatched`, and the item's own tools come when they are asked for."""
    made = unmatched(scene, seed)
    if isinstance(made, Reason):
        return made
    own = tuple(dict.fromkeys(hop.tool.name for hop in scene.item.hops))
    label = replace(made[0].label, solvable_after=True, reserve=own)
    return (replace(made[0], label=label),)


def unmatched(scene: Scene, seed: int) -> Drafts:
    """The tools of another item, a different one for each item of the data set."""
    item, donor = scene.item, scene.donor(seed)
    foreign = _foreign(item, donor) if donor is not None else []
    if not foreign:
        return Reason.NO_DONOR
    whole, held = held_back(scene, replace(item, others=tuple(foreign)))
    made = shown(whole, [tool.name for tool in foreign], seed)
    label = Label(Scenario.UNMATCHED, item.id, False, EpisodeAction.CHANGE_TOOLS)
    lost = range(len(item.hops))
    return (unsolvable(scene, made, held, lost, label, seed, expected=answered(made)),)


def _foreign(item: Item, donor: Item) -> list[Tool]:
    """The donor's tools that share no name and no code with the item's own."""
    names = {name.casefold() for name in item.all_tools}
    code = {str(tool.body_parts) for tool in item.all_tools.values()}
    return [
        tool
        for name, tool in donor.tools.items()
        if name.casefold() not in names
        and isinstance(tool.body, Program)
        and str(tool.body_parts) not in code
    ]
