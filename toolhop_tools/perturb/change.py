"""The type of a perturbation, and shared helpers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import TypeAlias

from toolhop_tools.model import Item, Tool

AS_IS = "as-is"


class Words(StrEnum):
    """A treatment of texts shown to the model."""

    AS_IS = AS_IS
    SCRAMBLED = "scrambled"
    """A name gets random letters; the words of a description are shuffled."""
    REMOVED = "removed"
    """A name becomes ``tool_1``, by position; a description becomes empty."""


ItemChange: TypeAlias = Callable[[Item], Item]
"""A pure, deterministic change of an item."""


def drawn(seed: int, item: Item, what: str) -> random.Random:
    """Return a random generator for one purpose and item, independent of all others."""
    return random.Random(f"{seed}/{item.id}/{what}")


def with_tools(item: Item, change: Callable[[Tool], Tool]) -> Item:
    """Return the item with every tool changed; tools that share a name still do so afterwards."""
    new = {name: change(tool).name for name, tool in item.all_tools.items()}
    return replace(
        item,
        hops=tuple(replace(hop, tool=change(hop.tool)) for hop in item.hops),
        others=tuple(change(tool) for tool in item.others),
        order=tuple(new[name] for name in item.tools),
    )
