"""The field of a row that describes how its tools are shown, if it differs from their definition.

    "shown": {"names": [...], "others": [...], "order": [...]}

``names`` lists the displayed name of each hop's tool, ``others`` the tools that belong to no hop,
each with ``name description parameters function source``, and ``order`` all displayed names in
order. ``tools`` contains the displayed schemas of the hops' tools, but with the names of their
functions, as in the official file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.errors import counted, shown
from toolhop_tools.model import Item, Tool
from toolhop_tools.readers.record import Record, read_tool_schema

FIELD = "shown"


def shown_field(item: Item) -> dict[str, JSON]:
    """Return the field for an item that has an order."""
    return {
        "names": [hop.tool.name for hop in item.hops],
        "others": [_other(tool) for tool in item.others],
        "order": list(item.order),
    }


def _other(tool: Tool) -> JSON:
    schema = tool.schema
    return {
        "name": schema.name,
        "description": schema.description,
        "parameters": dict(schema.parameters),
        "function": tool.program.function,
        "source": tool.program.source,
    }


def read_shown(record: Record, item: Item) -> Item:
    """Apply the field to `item`; its faults are noted in `record`."""
    names, order = _names(record, "names"), _names(record, "order")
    if len(names) != len(item.hops):
        expected = f"{counted(len(item.hops), 'name')}, one a hop"
        record.note("count", "names", expected=expected, given=str(len(names)))
        return item
    hops = tuple(
        replace(hop, tool=replace(hop.tool, schema=replace(hop.tool.schema, name=name)))
        for hop, name in zip(item.hops, names, strict=True)
    )
    others = _others(record)
    known = {*names, *(tool.name for tool in others)}
    if len(known) != len(set(names)) + len(others) or sorted(order) != sorted(known):
        expected = "the name of every tool once"
        record.note("order", "order", expected=expected, given=shown(list(order)))
        return item
    return replace(item, hops=hops, others=others, order=order)


def _names(record: Record, field: str) -> tuple[str, ...]:
    given = record.sequence(field)
    if not all(isinstance(name, str) and name.strip() for name in given):
        record.note("wrong-type", field, expected="names", given=shown(list(given)))
    return tuple(str(name) for name in given)


def _others(record: Record) -> tuple[Tool, ...]:
    given = record.value.get("others", [])
    if not isinstance(given, list):
        record.note("wrong-type", "others", expected="a list of tools", given=shown(given))
        return ()
    tools = []
    for number, entry in enumerate(given):
        if isinstance(entry, Mapping):
            tools.append(_tool(record.within(f"others[{number}]", entry)))
        else:
            place = f"others[{number}]"
            record.note("wrong-type", place, expected="a tool", given=shown(entry))
    return tuple(tools)


def _tool(entry: Record) -> Tool:
    program = Program(entry.text("source"), entry.text("function"))
    ours = {"function", "source"}
    schema = {key: value for key, value in entry.value.items() if key not in ours}
    return Tool(read_tool_schema(replace(entry, value=schema)), program)
