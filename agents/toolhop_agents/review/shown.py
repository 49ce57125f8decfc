"""An item as a reviewer sees it: what is asked, how it is solved, and what it was accepted by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolhop_agents.construct.reviews import Material
from toolhop_agents.data_view import parameter_rows
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.certify.model import HopProof
from toolhop_tools.construct.documents import all_said
from toolhop_tools.construct.reviews import Review
from toolhop_tools.construct.wording import said_alone
from toolhop_tools.model import Hop, Item, Tool

FACTS = ("model", "world", "source", "licence", "replies", "input_tokens", "output_tokens")
"""Of an item's book: what is shown of where it comes from."""


def listed(material: Material, own: Mapping[str, Review]) -> list[JSON]:
    """A row an item, with what this reviewer said of it; of others nothing.

    Args:
        material: what there is to review, in this order.
        own: the reviewer's last words by item, skipped ones included.
    """
    return [{"id": item.id, **word(own.get(item.id))} for item in material.items]


def word(review: Review | None) -> dict[str, JSON]:
    """What a reviewer said of an item."""
    if review is None:
        return {"ruling": None, "reason": ""}
    return {"ruling": review.ruling.value, "reason": review.reason}


def item_shown(material: Material, item: Item) -> dict[str, JSON]:
    """Everything about an item that a reviewer may want to see, as JSON."""
    book = material.books[item.id]
    certificate = material.certificates.get(item.id)
    proofs = certificate.hops if certificate is not None else (None,) * len(item.hops)
    tools = {hop.tool.name: hop.tool for hop in item.hops}
    return {
        "id": item.id,
        "domain": item.domain,
        "question": item.question,
        "answer": item.answer,
        "hops": [_hop(hop, proof) for hop, proof in zip(item.hops, proofs, strict=True)],
        "tools": [_tool(tool) for tool in tools.values()],
        "criteria": [_criterion(one) for one in book["criteria"]],
        "steps": book["steps"],
        "facts": {name: book[name] for name in FACTS if name in book},
        "marks": _marks(item),
    }


def _marks(item: Item) -> list[JSON]:
    """Why the official rule may be met by accident, and words that no tool speaks of."""
    unsafe = item.extra.get("official_unsafe")
    marks: list[JSON] = []
    marks += [f"official rule: {one}" for one in unsafe] if isinstance(unsafe, list) else []
    whole = " ".join(hop.question for hop in item.hops)
    for number, hop in enumerate(item.hops, 1):
        arguments = hop.gold.arguments if hop.gold else {}
        known = all_said(hop.tool.schema, arguments)
        whole += f" {known}"
        if odd := said_alone(hop.question, known):
            marks.append(f"hop {number}: its tool says nothing of {', '.join(odd)}")
    if odd := said_alone(item.question, whole):
        marks.append(f"question: no hop says {', '.join(odd)}")
    return marks


def _hop(hop: Hop, proof: HopProof | None) -> JSON:
    arguments = dict(hop.gold.arguments) if hop.gold else None
    return {
        "question": hop.question,
        "answer": hop.answer,
        "tool": hop.tool.name,
        "arguments": None if arguments is None else json.dumps(arguments, ensure_ascii=False),
        "result": proof.result if proof is not None else None,
        "chance": [proof.chance.hits, proof.chance.runs] if proof and proof.chance else None,
        "edges": [{"hop": one.hop, "argument": one.argument} for one in proof.edges]
        if proof
        else [],
    }


def _tool(tool: Tool) -> JSON:
    rows: list[JSON] = [list(row) for row in parameter_rows(tool.schema.parameters)]
    code = tool.body.source if isinstance(tool.body, Program) else ""
    return {
        "name": tool.name,
        "description": tool.schema.description,
        "parameters": rows,
        "schema": json.dumps(dict(tool.schema.parameters), ensure_ascii=False),
        "code": code,
    }


def _criterion(one: Mapping[str, Any]) -> JSON:
    figure = json.dumps(one["figure"], ensure_ascii=False)
    return {"name": one["criterion"], "holds": one["holds"], "figure": figure}
