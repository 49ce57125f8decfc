"""What episodes can be split by, to show figures by group: the same for every table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from toolhop_env.attempt import Attempt

MODE, DOMAIN, HOPS = "mode", "domain", "hops"
COMMON = (MODE, DOMAIN, HOPS)
"""Of every benchmark. Hops are the item's milestones: in ToolHop, its hops."""
UNKNOWN = "unknown"


class UnknownFacet(Exception):
    """Episodes are not split by that; says what they can be split by."""


def splitting(
    by: str, attempts: Iterable[Attempt], domains: Mapping[str, str]
) -> Callable[[Attempt], str]:
    """The value of a facet by attempt.

    Args:
        by: one of `COMMON`, or a facet that the attempts' benchmark names.
        attempts: all that will be split.
        domains: domain by item id; needed for that facet alone.

    Raises:
        UnknownFacet: there is none of that name.
    """
    own = dict.fromkeys(name for one in attempts for name in one.facets)
    match by:
        case "mode":
            return lambda one: one.mode
        case "domain":
            return lambda one: domains.get(one.item, UNKNOWN)
        case "hops":
            return lambda one: str(len(one.milestones))
        case _ if by in own:
            return lambda one: one.facets.get(by, UNKNOWN)
        case _:
            known = ", ".join((*COMMON, *own))
            raise UnknownFacet(f"--by {by!r} splits none of these episodes; give {known}")


def in_order(value: str) -> tuple[bool, int, str]:
    """To sort a facet's values by: numbers as numbers, then texts."""
    number = value.isascii() and value.isdigit()
    return not number, int(value) if number else 0, value
