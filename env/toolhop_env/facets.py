"""Facets by which episodes can be grouped; every table supports the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from toolhop_env.attempt import Attempt

MODE, DOMAIN, HOPS = "mode", "domain", "hops"
COMMON = (MODE, DOMAIN, HOPS)
"""Facets of every benchmark. Hops are the item's milestones, which in ToolHop are its hops."""
UNKNOWN = "unknown"


class UnknownFacet(Exception):
    """No episode has this facet; the message lists the facets that exist."""


def splitting(
    by: str, attempts: Iterable[Attempt], domains: Mapping[str, str]
) -> Callable[[Attempt], str]:
    """Return a function that maps an attempt to its value of a facet.

    Args:
        by: one of `COMMON`, or a facet of the attempts' benchmark.
        attempts: all attempts to be grouped.
        domains: domain by item id; used only for the facet `domain`.

    Raises:
        UnknownFacet: no attempt has this facet.
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
    """Return a sort key for a facet's values: numbers by value, then texts."""
    number = value.isascii() and value.isdigit()
    return not number, int(value) if number else 0, value
