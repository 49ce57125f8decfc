"""The item's tools in another order than that of its hops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from toolhop_tools.model import Item
from toolhop_tools.perturb.change import drawn

SHUFFLED = "order=shuffled"


def tool_order(perturbation: str) -> str:
    """The order in which an item's own tools were listed, by the label of a perturbation.

    The published one is hop order, which is the plan.
    """
    return "shuffled" if SHUFFLED in perturbation.split("+") else "published"


def tool_orders(perturbations: Iterable[str]) -> str:
    """The same of several, in words for a table's title."""
    return f"tools in {' and '.join(dict.fromkeys(map(tool_order, perturbations)))} order"


def shuffled(item: Item, seed: int) -> Item:
    """The item with all tools on offer in random order."""
    order = [*item.tools]
    drawn(seed, item, "tools").shuffle(order)
    return replace(item, order=tuple(order))
