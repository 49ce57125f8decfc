"""Shuffled order of an item's tools, which otherwise is the order of its hops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from toolhop_tools.model import Item
from toolhop_tools.perturb.change import drawn

SHUFFLED = "order=shuffled"


def tool_order(perturbation: str) -> str:
    """Return the order in which an item's own tools were listed, from a perturbation's label.

    The published order is that of the hops, which reveals the plan.
    """
    return "shuffled" if SHUFFLED in perturbation.split("+") else "published"


def tool_orders(perturbations: Iterable[str]) -> str:
    """Describe the tool orders of several perturbations, for a table's title."""
    return f"tools in {' and '.join(dict.fromkeys(map(tool_order, perturbations)))} order"


def shuffled(item: Item, seed: int) -> Item:
    """Shuffle all tools shown with an item."""
    order = [*item.tools]
    drawn(seed, item, "tools").shuffle(order)
    return replace(item, order=tuple(order))
