"""Make the tool names of an item unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toolhop_tools.model import Hop, Tool


def own_names(hops: Sequence[Hop]) -> tuple[Hop, ...]:
    """Rename tools so that each name means one tool: a second one becomes ``name_2``.

    Hops with the same schema and code share one tool, which keeps its name.
    """
    names = {hop.tool.name for hop in hops}
    tools: dict[str, list[tuple[Tool, Tool]]] = {}
    renamed = []
    for hop in hops:
        alike = tools.setdefault(hop.tool.name, [])
        own = next((new for old, new in alike if old == hop.tool), None)
        if own is None:
            own = _named(hop.tool, names) if alike else hop.tool
            alike.append((hop.tool, own))
            names.add(own.name)
        renamed.append(replace(hop, tool=own))
    return tuple(renamed)


def _named(tool: Tool, taken: set[str]) -> Tool:
    number = 2
    while f"{tool.name}_{number}" in taken:
        number += 1
    return replace(tool, schema=replace(tool.schema, name=f"{tool.name}_{number}"))
