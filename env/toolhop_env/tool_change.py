"""Choice of the tools that an agent gets when it asks for others: retrieval among held-back tools.

An item may hold back a reserve of tools that fits the question, and further tools that do not. The
agent's stated need is compared with the texts of all of them and of the tools on offer, by TF-IDF.
No model is used, and equal requests yield equal tools.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from toolhop_env.trace import Called, Replied, Trace
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.model import ActionChoice, EpisodeAction, Item, Tool
from toolhop_tools.scenarios.label import reserve_of

NEW = "new_tools"
"""Name of the result's field with the new tools."""
FIRST = 5
"""Rank that a tool of the reserve must reach for the reserve to be offered; also the maximum
number of further tools offered at a time."""
LEAST = 0.1
"""Minimum cosine similarity of a tool to a need. An item has few tools, so without a minimum, part
of the reserve would rank among the first for any need. With the item's question as the need, the
reserve is offered in 42 of 43 built-in items and in 38 of 38 of ToolHop; with another item's
question, in 13 and in 17."""


def held_back(item: Item, on_offer: Collection[str]) -> tuple[str, ...]:
    """Return the names of the tools that can be offered later: the reserve, and those of no hop."""
    reserve, of_hops = set(reserve_of(item)), {hop.tool.name for hop in item.hops}
    return tuple(
        name
        for name, tool in item.all_tools.items()
        if name not in on_offer and (name in reserve or name not in of_hops) and not _acts(tool)
    )


def _acts(tool: Tool) -> bool:
    return isinstance(tool.body, EpisodeAction | ActionChoice)


def change(item: Item, on_offer: Sequence[str], arguments: Mapping[str, JSON]) -> Returned:
    """Return the result of asking for other tools: their names, descriptions and parameters.

    Args:
        item: the item that has the tools.
        on_offer: names of the tools on offer, or about to be.
        arguments: arguments of the call: ``need``, or any texts.
    """
    texts = [value for value in arguments.values() if isinstance(value, str)]
    names = coming(item, on_offer, str(arguments.get("need", " ".join(texts))))
    new: list[JSON] = [item.all_tools[name].schema.to_openai()["function"] for name in names]
    return Returned(json.dumps({NEW: new}, ensure_ascii=False))


def brought(trace: Trace, on_offer: Collection[str]) -> tuple[str, ...]:
    """Return the names of the new tools that the last turn's calls bring."""
    found: list[str] = []
    for event in reversed(trace.events):
        if isinstance(event, Replied):
            break
        if isinstance(event, Called) and event.action is EpisodeAction.CHANGE_TOOLS:
            found = [*_named(event), *found]
    return tuple(name for name in found if name not in on_offer)


def _named(call: Called) -> list[str]:
    if not isinstance(call.outcome, Returned):
        return []
    new = json.loads(call.outcome.json_text)[NEW]
    return [one if isinstance(one, str) else str(one["name"]) for one in new]


def coming(item: Item, on_offer: Sequence[str], need: str) -> tuple[str, ...]:
    """Return the names of the tools to offer, sorted, so that their order reveals nothing.

    The reserve is offered as a whole if one of its tools is among the `FIRST` and at least `LEAST`
    similar to `need`; otherwise up to `FIRST` further tools, the most similar ones.
    """
    held = held_back(item, on_offer)
    if not held:
        return ()
    from toolhop_tools.perturb.nearest import Nearest  # numpy, only when used

    likeness = Nearest([item]).likeness_to(need)
    known = {*held, *(name for name in on_offer if not _acts(item.all_tools[name]))}
    ranked = sorted(known, key=lambda name: (-likeness.get(name, 0.0), name))
    first = [name for name in ranked[:FIRST] if likeness.get(name, 0.0) >= LEAST]
    reserve = {*reserve_of(item)} & {*held}
    if reserve & {*first}:
        return tuple(sorted(reserve))
    return tuple(sorted([one for one in ranked if one in held and one not in reserve][:FIRST]))
