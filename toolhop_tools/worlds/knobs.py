"""How hard made items are, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Style(StrEnum):
    """How a world's tools are named, take arguments, answer and fail."""

    RECORDS = "records"
    """`get_ship(name)` gives a record; errors are raised, with a hint."""
    VALUES = "values"
    """`ship_info(ship, field)` gives a bare value, lists are of names; errors without a hint."""
    SERVICE = "service"
    """`shipService` names, ``{"ok": true, "data": ...}``; errors are results with a code."""
    TABLES = "tables"
    """`query_ships(where, order_by, ...)`: columns and rows; keyed by code where there is one."""


class Joins(StrEnum):
    """The shape of chains."""

    NONE = "none"
    SOME = "some"
    """A third of the items has one."""
    ALL = "all"


class Near(StrEnum):
    """What the tools are that no hop uses."""

    WORLD = "world"
    """Others of the same world."""
    TWINS = "twins"
    """First those over former or foreign registers: near names, near documents, other values."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """What may be set; each item records its own."""

    hops: tuple[int, int] = (3, 5)
    """From, to: 2 to 8."""
    joins: Joins = Joins.SOME
    tools: int = 12
    """On offer, shuffled; 0 for all of the world's."""
    near: Near = Near.WORLD
    styles: tuple[Style, ...] = tuple(Style)
    """A world has one of these."""
    listing: bool = False
    """Whether each type has a tool that lists all of it, paged."""
    size: float = 2.0
    """By how much a world's counts are multiplied: longer results."""
    page: int = 0
    """Rows a page of results has; 0 for one page."""
    units: bool = False
    """Some answers are asked in another unit than the tools give: a conversion is a hop."""
    codes: bool = False
    """Questions give codes where a type has them, and some tools take codes alone."""
    failures: int = 0
    """First calls of one of the hops' tools that fail, as when a service is down for a while."""
    domains: tuple[str, ...] = ()
    """Empty for all."""
    forms: tuple[int, ...] = (0, 1, 2, 3)
    """Surface forms of questions, so that some can be held out."""
