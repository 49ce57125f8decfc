"""The forms of calls that are searched for in a pool: how many calls at each depth. Pure."""

from __future__ import annotations

import random
from enum import StrEnum

from toolhop_tools.construct.nested.model import MOST_CALLS


class Structure(StrEnum):
    """What the widest place of a task is like."""

    CHAIN = "chain"
    """One call at each depth."""
    FORK = "fork"
    """One call at the start; responses are taken by several."""
    JOIN = "join"
    """Several calls at the start; one at the end takes what they lead to."""
    DIAMOND = "diamond"
    """One at both ends, several between."""
    ANY = "any"
    """Any of these that there is, drawn."""


def possible(structure: Structure, depth: int, width: int) -> bool:
    """Whether there are calls of the structure with this depth and width."""
    if structure is Structure.CHAIN:
        return width == 1
    least = {Structure.DIAMOND: 3, Structure.ANY: 1}.get(structure, 2)
    return depth >= least and (width > 1 or structure is Structure.ANY)


def sizes(structure: Structure, depth: int, width: int, rng: random.Random) -> list[int] | None:
    """How many calls at each depth, drawn; None where there are none, or too many for a task."""
    if not possible(structure, depth, width) or structure is Structure.ANY:
        return None
    if structure is Structure.CHAIN:
        return [1] * depth
    between = [rng.randint(1, width) for _ in range(depth - 2)]
    if structure is Structure.FORK:
        drawn = [1, *sorted(between), width]
    elif structure is Structure.JOIN:
        drawn = [width, *sorted(between, reverse=True), 1]
    else:
        peak = rng.randrange(len(between))
        between[peak] = width
        drawn = [1, *sorted(between[:peak]), *sorted(between[peak:], reverse=True), 1]
    return drawn if sum(drawn) <= MOST_CALLS else None
