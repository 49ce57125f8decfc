"""Items by index: blocks of items share a world, so that any block is made without those before."""

from __future__ import annotations

import json
import random

from toolhop_sandbox.base import Program
from toolhop_tools.model import GoldCall, Hop, Item, Tool, ToolSchema
from toolhop_tools.reading import Match, Reading
from toolhop_tools.worlds.domain import domains
from toolhop_tools.worlds.spec import FIELD, Spec
from toolhop_tools.worlds.world import World, make

VERSION = 1
"""Of the generator. It goes up with every change that can change an item."""
BLOCK = 20
"""Items that share a world."""
SOURCE = "constructed"
"""Of gold calls (`toolhop_tools.model.GoldCall`)."""


def item_at(spec: Spec, index: int) -> Item:
    """An item by its index, from 0."""
    return block(spec, index // BLOCK)[index % BLOCK]


def block(spec: Spec, number: int) -> tuple[Item, ...]:
    """The items of a world."""
    seed = f"{spec.seed}/{number}"
    names = spec.knobs.domains or tuple(domains())
    drawn = random.Random(seed)
    world = make(domains()[drawn.choice(names)], f"{seed}/names", f"{seed}/values")
    tools = {link: _tool(world, *link) for link in _links(world)}
    return tuple(_item(spec, number * BLOCK + at, world, tools) for at in range(BLOCK))


def _links(world: World) -> list[tuple[str, str]]:
    return [(of, name) for of, name, link in world.domain.links if not link.many]


def _tool(world: World, kind: str, relation: str) -> Tool:
    table = {name: row[relation] for name, row in world.tables[kind].items()}
    name = f"{relation}_of_{kind}"
    source = (
        f"TABLE = {json.dumps(table)}\n\n\ndef {name}({kind}):\n"
        f"    if {kind} not in TABLE:\n        raise ValueError('no {kind} ' + repr({kind}))\n"
        f"    return {{'{relation}': TABLE[{kind}]}}\n"
    )
    properties = {kind: {"type": "string", "description": f"Name of a {kind}."}}
    schema = {"type": "object", "properties": properties, "required": [kind]}
    return Tool(ToolSchema(name, f"The {relation} of a {kind}.", schema), Program(source, name))  # type: ignore[arg-type]


def _item(spec: Spec, index: int, world: World, tools: dict[tuple[str, str], Tool]) -> Item:
    drawn = random.Random(f"{spec.seed}/{index}/{spec.knobs}")
    wanted = drawn.randint(*spec.knobs.hops)
    hops: list[Hop] = []
    kind, at = "", ""
    while not hops:
        kind = drawn.choice(list(world.tables))
        at = start = drawn.choice(list(world.tables[kind]))
        while len(hops) < wanted:
            ways = [(of, name) for of, name in tools if of == kind]
            if not ways:
                break
            of, name = drawn.choice(ways)
            end = world.related(of, name, at)
            reading = Reading(Match.VALUE, (name,))
            gold = GoldCall({of: at}, SOURCE, reading)
            question = f"What is the {name} of {at if not hops else f'#{len(hops)}'}?"
            hops.append(Hop(question, end, tools[of, name], gold))
            kind, at = world.domain.relation(of, name).to, end
    path = " of the ".join(hop.tool.name.partition("_of_")[0] for hop in reversed(hops))
    own = {hop.tool.name for hop in hops}
    others = [tool for tool in tools.values() if tool.name not in own]
    order = [*own, *(tool.name for tool in others)][: spec.knobs.tools or None]
    order.sort()
    drawn.shuffle(order)
    return Item(
        spec.id_of(index), f"What is the {path} of {start} (#{index})?", at, tuple(hops),
        world.domain.name, kind, extra={FIELD: spec.reference(index, VERSION)},
        others=tuple(tool for tool in others if tool.name in order), order=tuple(order),
    )  # fmt: skip
