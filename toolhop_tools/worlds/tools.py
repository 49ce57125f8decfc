"""Make all tools of a world in one style."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from toolhop_tools.worlds.exposed import COMPUTING
from toolhop_tools.worlds.knobs import Knobs, Near, Style
from toolhop_tools.worlds.made import MadeTool, Shape, Toolbox, by_name
from toolhop_tools.worlds.surface import REGISTERS, Surface
from toolhop_tools.worlds.tools_lookup import LookupMaker
from toolhop_tools.worlds.tools_worked import WorkedMaker
from toolhop_tools.worlds.world import World, filled

SAME_EVERYWHERE = {Shape.IDENTIFY, Shape.LIST, *COMPUTING}
"""Shapes without twins: names and codes are the same in every register."""


def toolbox(world: World, style: Style, knobs: Knobs, seed: str) -> Toolbox:
    """Make all tools of a world.

    Args:
        world: the world whose tables they contain.
        style: style of all tools.
        knobs: only `listing`, `page`, `codes` and `near` matter here.
        seed: seed of the choices within the style.

    Raises:
        ValueError: two tools would have the same name.
    """
    drawn = random.Random(f"{seed} tools")
    coded = [kind for kind, of in world.domain.types.items() if of.code]
    if style is not Style.TABLES:
        most = (len(coded) + 1) // 2 if knobs.codes else 0
        coded = drawn.sample(coded, most)
    surface = Surface(
        style, world.domain, frozenset(coded), variant=drawn.randrange(100), page=knobs.page
    )
    if knobs.near is Near.WORLD:
        return Toolbox(world, surface, by_name(_made(world, surface, knobs.listing)))
    present, other = drawn.choice(REGISTERS)
    surface, twin = (replace(surface, register=register) for register in (present, other))
    tools = [*_made(world, surface, knobs.listing)]
    twins = [*_made(filled(world, f"{seed}/{other.word}"), twin, knobs.listing)]
    pairs = {
        tool.name: twin
        for tool, twin in zip(tools, twins, strict=True)
        if tool.shape not in SAME_EVERYWHERE
    }
    by_name([*tools, *pairs.values()])
    return Toolbox(world, surface, by_name(tools), pairs)


def _made(world: World, surface: Surface, listing: bool) -> Iterator[MadeTool]:
    """Yield the tools, type by type; then those of no type."""
    lookup, worked = LookupMaker(world, surface), WorkedMaker(world, surface)
    for kind, of in world.domain.types.items():
        yield lookup.record(kind, of)
        if of.code:
            yield lookup.identify(kind, of)
        if match := lookup.match(kind, of):
            yield match
        yield from lookup.find(kind, of)
        if surface.links(kind):
            yield lookup.total(kind, of)
        yield worked.compare(kind, of)
        yield worked.gap(kind, of)
        if listing:
            yield lookup.lister(kind, of)
    yield worked.convert()
    yield worked.days()
    yield worked.shift()
    yield worked.initials()
    yield worked.digits()
