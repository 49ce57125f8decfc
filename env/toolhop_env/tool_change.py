"""Which tools come when an agent asks for others: retrieval among those that an item holds back.

An item holds tools that are not on offer: a reserve that fits the question, where it has one, and
further tools that do not. What an agent says that it needs is compared with the texts of all of
them and of those on offer, by TF-IDF. No model is asked, and equal requests bring equal tools.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from toolhop_env.trace import Called, Replied, Trace
from toolhop_sandbox.outcome import JSON, Returned
from toolhop_tools.model import ActionChoice, EpisodeAction, Item, Tool
from toolhop_tools.scenarios.label import reserve_of

NEW = "new_tools"
"""The field of what a change of tools returns."""
FIRST = 5
"""Places of the ranking in which a tool of the reserve has to stand for the reserve to come; and
the most further tools that come at a time."""
LEAST = 0.1
"""Cosine below which a tool is not like a need: an item has few tools, so that some of the reserve
is among the first of any ranking. With the item's question as need the reserve comes in 42 of 43
built-in items and in 38 of 38 of ToolHop; with the question of another item, in 13 and in 17."""


def held_back(item: Item, on_offer: Collection[str]) -> tuple[str, ...]:
    """Names of the tools that can come: the reserve, and those of no hop."""
    reserve, of_hops = set(reserve_of(item)), {hop.tool.name for hop in item.hops}
    return tuple(
        name
        for name, tool in item.all_tools.items()
        if name not in on_offer and (name in reserve or name not in of_hops) and not _acts(tool)
    )


def _acts(tool: Tool) -> bool:
    return isinstance(tool.body, EpisodeAction | ActionChoice)


def change(item: Item, on_offer: Sequence[str], arguments: Mapping[str, JSON]) -> Returned:
    """What an agent reads that asks for other tools: their names, descriptions and parameters.

    Args:
        item: whose tools they are.
        on_offer: names of the tools that it has, or that come anyhow.
        arguments: of the call: ``need``, or any texts.
    """
    texts = [value for value in arguments.values() if isinstance(value, str)]
    names = coming(item, on_offer, str(arguments.get("need", " ".join(texts))))
    new: list[JSON] = [item.all_tools[name].schema.to_openai()["function"] for name in names]
    return Returned(json.dumps({NEW: new}, ensure_ascii=False))


def brought(trace: Trace, on_offer: Collection[str]) -> tuple[str, ...]:
    """Names of the tools that the last turn's calls bring, and that are not on offer yet."""
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
    """Names of the tools that come, by name: their order tells nothing of the way to the answer.

    The reserve comes as a whole, if one of its tools is among the `FIRST` and as like `need` as
    `LEAST` says; else up to `FIRST` further tools, the most like it first.
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
