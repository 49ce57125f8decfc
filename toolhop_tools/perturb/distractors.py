"""Tools of other items among the item's own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from toolhop_tools.errors import BadChoice
from toolhop_tools.model import Item
from toolhop_tools.perturb.change import drawn
from toolhop_tools.perturb.nearest import Nearest


@dataclass(frozen=True, slots=True)
class Distractors:
    """Tools of a pool, put at random places; the item's own keep their order."""

    count: int
    pool: Nearest
    seed: int
    nearest: bool = True
    """Those most like the item's tools by their text; else any."""

    @property
    def label(self) -> str:
        """Such as ``distractors=5`` or ``distractors=5:random``."""
        return f"distractors={self.count}" + ("" if self.nearest else ":random")

    def __call__(self, item: Item) -> Item:
        """The item with more tools on offer.

        Raises:
            BadChoice: the pool has too few other tools for the item.
        """
        found = self.pool.others(item)
        if len(found) < self.count:
            raise BadChoice(
                f"item {item.id} cannot get {self.count} distractors: the data set has "
                f"{len(found)} tools of other items that are not its own",
                fix="ask for fewer, or play a larger data set",
            )
        rng = drawn(self.seed, item, "distractors")
        chosen = found[: self.count] if self.nearest else tuple(rng.sample(found, self.count))
        order = [*item.tools]
        for tool in chosen:
            order.insert(rng.randint(0, len(order)), tool.name)
        return replace(item, others=(*item.others, *chosen), order=tuple(order))
