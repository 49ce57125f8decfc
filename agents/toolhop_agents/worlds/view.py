"""Settings, series, worlds and generated items as tables, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields

from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from toolhop_agents.stacked import StackedTable
from toolhop_agents.terminal import plain
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item
from toolhop_tools.worlds import items
from toolhop_tools.worlds.knobs import Knobs
from toolhop_tools.worlds.made import Toolbox
from toolhop_tools.worlds.spec import BENCHMARKS, KNOBS, SETTINGS, TIERS, Series, Spec, knobs_text

RESULT_CHARS = 500
"""Maximum length of a result on a page, in characters."""
DEFAULTS: Mapping[str, str] = {"seed": str(Spec().seed), "items": str(Spec().items)}
"""Default values of the settings that are not knobs."""


def settings_json() -> dict[str, JSON]:
    """Return all settings, tiers and benchmarks as JSON."""
    return {
        "generator": items.VERSION,
        "settings": {
            name: {"about": setting.about, "allowed": setting.allowed, "default": _default(name)}
            for name, setting in SETTINGS.items()
        },
        "tiers": {str(tier): knobs_text(knobs) for tier, knobs in enumerate(TIERS, 1)},
        "benchmarks": {
            name: {
                "seed": fixed.seed,
                "items_a_tier": fixed.items,
                "tiers": [knobs_text(knobs) for knobs in fixed.tiers],
                "generator": fixed.generator,
            }
            for name, fixed in BENCHMARKS.items()
        },
    }


def settings_tables() -> Iterator[RenderableType]:
    """Yield all settings, tiers and benchmarks as tables."""
    table = StackedTable("setting", framed=False)
    table.add_columns("what", "allowed", "default", prose=True)
    for name, setting in SETTINGS.items():
        table.add_row(f"{name}=", setting.about, setting.allowed, _default(name))
    yield table
    table = StackedTable("tier", framed=False)
    table.add_columns("knobs", prose=True)
    for tier, knobs in enumerate(TIERS, 1):
        table.add_row(f"tier={tier}", _apart(knobs))
    yield table
    table = StackedTable("benchmark", framed=False)
    table.add_columns("items", "seed", "generator", right=True)
    table.add_columns("tiers", prose=True)
    for name, fixed in BENCHMARKS.items():
        tiers = "; ".join(map(_apart, fixed.tiers))
        count = fixed.items * len(fixed.tiers)
        table.add_row(name, f"{count:,}", str(fixed.seed), str(fixed.generator), tiers)
    if BENCHMARKS:
        yield table


def _default(name: str) -> str:
    if name not in KNOBS:
        return DEFAULTS.get(name, "none")
    value = getattr(Knobs(), name)
    return "all" if value == () else KNOBS[name].write(value)


def _apart(knobs: Knobs) -> str:
    """Format the knobs that differ from their defaults."""
    changed = [
        f"{field.name}={KNOBS[field.name].write(value)}"
        for field in fields(Knobs)
        if (value := getattr(knobs, field.name)) != getattr(Knobs(), field.name)
    ]
    return ", ".join(changed) or "the defaults"


def series_json(series: Series) -> dict[str, JSON]:
    """Return a series as JSON: its spec, size and parts."""
    return {
        "spec": series.text,
        "items": len(series),
        "generator": items.VERSION,
        "parts": [
            {"tier": spec.tier, "first": spec.id_of(0), "items": spec.items,
             "worlds": -(-spec.items // items.BLOCK), "knobs": knobs_text(spec.knobs)}
            for spec in series.specs
        ],
    }  # fmt: skip


def series_tables(series: Series) -> Iterator[RenderableType]:
    """Yield a series as a heading and a table."""
    yield plain(f"{series.text} · generator {items.VERSION}", "bold")
    table = StackedTable("first item", framed=False)
    table.add_columns("items", "worlds", right=True)
    table.add_columns("knobs", prose=True)
    for spec in series.specs:
        worlds = -(-spec.items // items.BLOCK)
        table.add_row(spec.id_of(0), f"{spec.items:,}", f"{worlds:,}", _apart(spec.knobs))
    yield table


def world_json(toolbox: Toolbox) -> dict[str, JSON]:
    """Return a world as JSON: its types with their counts, and its tools."""
    world = toolbox.world
    types: dict[str, JSON] = {
        kind: {
            "count": len(world.tables[kind]),
            "attributes": list(of.attributes),
            "relations": {name: relation.to for name, relation in of.relations.items()},
            "first": next(iter(world.tables[kind]), None),
        }
        for kind, of in world.domain.types.items()
    }
    return {
        "domain": world.domain.name,
        "about": world.domain.about,
        "style": str(toolbox.surface.style),
        "types": types,
        "tools": {tool.name: tool.description for tool in toolbox.tools.values()},
    }  # fmt: skip


def world_tables(toolbox: Toolbox) -> Iterator[RenderableType]:
    """Yield a world as tables."""
    world = toolbox.world
    title = f"{world.domain.name} · {toolbox.surface.style} · {world.domain.about}"
    yield Rule(plain(title), align="left")
    table = StackedTable("type", framed=False)
    table.add_columns("count", right=True)
    table.add_columns("attributes", "relations", "one of them", prose=True)
    for kind, rows in world.tables.items():
        of = world.domain.types[kind]
        links = ", ".join(f"{name} ({link.to})" for name, link in of.relations.items())
        table.add_row(kind, str(len(rows)), ", ".join(of.attributes), links, next(iter(rows), ""))
    yield table
    table = StackedTable("tool", framed=False)
    table.add_columns("what it does", prose=True)
    for tool in toolbox.tools.values():
        table.add_row(tool.name, tool.description)
    yield table


def executed(item: Item, toolbox: Toolbox) -> list[dict[str, JSON]]:
    """Run the calls of an item's chain in this process, and return them with their results."""
    calls: list[dict[str, JSON]] = []
    for hop in item.hops:
        arguments = dict(hop.gold.arguments) if hop.gold else {}
        result = toolbox.tools[hop.tool.name].call(arguments)
        calls.append({"tool": hop.tool.name, "arguments": arguments, "result": result})
    return calls


def chain_parts(item: Item, toolbox: Toolbox) -> Iterator[RenderableType]:
    """Yield an item's chain, each call with its result, and its difficulty."""
    yield Text()
    yield Rule(plain("chain"), align="left")
    for number, (hop, call) in enumerate(zip(item.hops, executed(item, toolbox), strict=True), 1):
        given = json.dumps(call["arguments"], ensure_ascii=False)
        result = json.dumps(call["result"], ensure_ascii=False)
        cut = f"{result[:RESULT_CHARS]}…" if len(result) > RESULT_CHARS else result
        yield plain(f"{number}  {call['tool']}({given})", "cyan")
        yield plain(f"   {cut}")
        yield plain(f"   answer: {hop.answer}", "green")
    table = StackedTable("difficulty", framed=False)
    table.add_columns("", prose=True)
    hard = item.extra[items.HARD]
    for name, value in hard.items() if isinstance(hard, dict) else ():
        table.add_row(name.replace("_", " "), str(value))
    yield table
