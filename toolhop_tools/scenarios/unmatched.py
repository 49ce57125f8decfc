"""Replace an item's own tools with those of other items, as in RelyToolBench."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from toolhop_sandbox.base import Program
from toolhop_tools.model import EpisodeAction, Item, Tool
from toolhop_tools.perturb.change import drawn
from toolhop_tools.scenarios.hazards import without_records
from toolhop_tools.scenarios.label import Label, Scenario
from toolhop_tools.scenarios.scene import (
    SPARE,
    Draft,
    Drafts,
    Reason,
    Scene,
    answered,
    held_back,
    shown,
    unsolvable,
)

AnyScene = TypeVar("AnyScene", bound=Scene)


def reserve(
    scene: AnyScene, seed: int, of_another: Callable[[AnyScene, int], Draft | Reason]
) -> Drafts:
    """As `unmatched`, but the item's own tools are added on request."""
    draft = of_another(scene, seed)
    if isinstance(draft, Reason):
        return draft
    own = tuple(dict.fromkeys(hop.tool.name for hop in scene.item.hops))
    return (replace(draft, label=replace(draft.label, solvable_after=True, reserve=own)),)


def unmatched(
    scene: AnyScene, seed: int, of_another: Callable[[AnyScene, int], Draft | Reason]
) -> Drafts:
    """Replace the tools with another item's, from `of_another`; one claims to name records."""
    draft = of_another(scene, seed)
    if isinstance(draft, Reason):
        return draft
    host = draft.item.tools[drawn(seed, scene.item, "host").choice(draft.item.order)]
    return (replace(draft, item=without_records(scene, draft.item, host, seed)),)


def of_another(scene: Scene, seed: int) -> Draft | Reason:
    """Use the tools of another item, a different one for each item of the data set."""
    item, donor = scene.item, next(scene.donors(seed), None)
    foreign = _foreign(item, donor)[: scene.size] if donor is not None else []
    if not foreign:
        return Reason.NO_DONOR
    names = tuple(tool.name for tool in foreign)
    made = replace(item, others=tuple(foreign), order=names)
    made, held = held_back(scene, made, spare=SPARE)
    made = shown(made, made.tools, seed)
    label = Label(Scenario.UNMATCHED, item.id, False, EpisodeAction.CHANGE_TOOLS)
    lost = range(len(item.hops))
    draft = unsolvable(scene, made, held, lost, label, seed, expected=answered(made))
    return replace(draft, apart=True)


def _foreign(item: Item, donor: Item) -> list[Tool]:
    """Return the donor's tools that share no name and no code with the item's own."""
    names = {name.casefold() for name in item.all_tools}
    code = {str(tool.body_parts) for tool in item.all_tools.values()}
    return [
        tool
        for name, tool in donor.tools.items()
        if name.casefold() not in names
        and isinstance(tool.body, Program)
        and str(tool.body_parts) not in code
    ]
