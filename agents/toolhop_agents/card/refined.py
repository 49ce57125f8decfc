"""How refining changed tool documents: ToolHop's figures 4 and 5, and tables 2 and 3. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from toolhop_agents.card.counts import mean
from toolhop_agents.card.page import Section, Table
from toolhop_tools.construct.stages import Stage


def refinement(accepted: Collection[str], replies: Iterable[Mapping[str, Any]]) -> Section | None:
    """Tool documents as first written, and as refined.

    Args:
        accepted: ids of the items whose documents are counted.
        replies: rows of the ledger, oldest first; the last reply of a stage counts.

    Returns:
        None where no tool was refined, as in nested tasks.
    """
    last: dict[str, dict[tuple[str, int], Any]] = {"tool": {}, "refine": {}}
    for row in replies:
        document = _document(row["text"]) if row.get("stage") in last else None
        if document and row["item"] in accepted:
            last[row["stage"]][row["item"], row["hop"]] = document
    first, refined = last[Stage.TOOL], last[Stage.REFINE]
    both = sorted({*first} & {*refined})
    if not both:
        return None
    before, after = (_figures([of[key] for key in both]) for of in (first, refined))
    names = dict.fromkeys([*before, *after])
    rows = tuple((name, before.get(name, "0"), after.get(name, "0")) for name in names)
    text = "Tool documents of accepted items, as first written and as refined."
    return Section("Refinement", (text, Table(("what", "before", "after"), rows)))


def _document(text: str) -> dict[str, Any] | None:
    """The tool's document in a reply; None where it has none."""
    try:
        tool = json.loads(text[text.index("{") : text.rindex("}") + 1])["tool"]
        return {"description": str(tool["description"]), "parameters": dict(tool["parameters"])}
    except (ValueError, LookupError, TypeError):
        return None


def _figures(documents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    whole = [one["parameters"].get("properties") or {} for one in documents]
    required = [
        {name: of[name] for name in one["parameters"].get("required", ()) if name in of}
        for one, of in zip(documents, whole, strict=True)
    ]
    rows = {
        "tools": f"{len(documents):,}",
        "characters of the description, mean": mean(len(one["description"]) for one in documents),
    }
    for what, sets in (("parameters", whole), ("required parameters", required)):
        sizes = Counter(map(len, sets))
        kinds = Counter(str(kind.get("type", "any")) for of in sets for kind in of.values())
        rows[f"{what} a tool, mean"] = mean(map(len, sets))
        rows |= {f"tools with {n} {what}": f"{sizes[n]:,}" for n in sorted(sizes)}
        rows |= {f"{what} of type {kind}": f"{count:,}" for kind, count in kinds.most_common()}
    return rows
