"""What a change of items is, and how texts are changed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import TypeAlias

from toolhop_tools.model import Item, Tool

AS_IS = "as-is"


class Words(StrEnum):
    """What is done to a text that the model is shown."""

    AS_IS = AS_IS
    SCRAMBLED = "scrambled"
    """A name gets other letters; a description its own words in another order."""
    REMOVED = "removed"
    """A name becomes ``tool_1``, by place; a description is empty."""


ItemChange: TypeAlias = Callable[[Item], Item]
"""A pure change of an item. Equal changes change equal items equally."""


def drawn(seed: int, item: Item, what: str) -> random.Random:
    """Random numbers of one use for one item: no other use or item has the same ones."""
    return random.Random(f"{seed}/{item.id}/{what}")


def with_tools(item: Item, change: Callable[[Tool], Tool]) -> Item:
    """The item with every tool changed, each in its place; tools of one name keep one name."""
    new = {name: change(tool).name for name, tool in item.all_tools.items()}
    return replace(
        item,
        hops=tuple(replace(hop, tool=change(hop.tool)) for hop in item.hops),
        others=tuple(change(tool) for tool in item.others),
        order=tuple(new[name] for name in item.tools),
    )
