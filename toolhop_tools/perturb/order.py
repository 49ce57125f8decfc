"""The item's tools in another order than that of its hops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class ShuffledOrder:
    """All tools on offer in random order."""

    seed: int

    def __call__(self, item: Item) -> Item:
        """The item with its tools in another order."""
        order = [*item.tools]
        drawn(self.seed, item, "tools").shuffle(order)
        return replace(item, order=tuple(order))
