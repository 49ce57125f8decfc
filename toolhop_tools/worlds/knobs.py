"""Difficulty settings of generated items."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Style(StrEnum):
    """How a world's tools are named, take arguments, return results and fail."""

    RECORDS = "records"
    """`get_ship(name)` returns a record; errors are raised, with a hint."""
    VALUES = "values"
    """`ship_info(ship, field)` returns a bare value, lists contain names; errors have no hint."""
    SERVICE = "service"
    """`shipService` names, ``{"ok": true, "data": ...}``; errors are results with a code."""
    TABLES = "tables"
    """`query_ships(where, order_by, ...)` returns columns and rows, keyed by code if there is
    one."""


class Joins(StrEnum):
    """Which chains contain joins."""

    NONE = "none"
    SOME = "some"
    """A third of the items."""
    ALL = "all"


class Near(StrEnum):
    """Which tools are on offer besides those that hops use."""

    WORLD = "world"
    """Other tools of the same world."""
    TWINS = "twins"
    """As `WORLD`, but tools over former or foreign registers come first: similar names and
    documentation, other values."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """All settings; each item records its own."""

    hops: tuple[int, int] = (3, 5)
    """Smallest and greatest number of hops, from 2 to 8."""
    joins: Joins = Joins.SOME
    tools: int = 12
    """Number of tools on offer, shuffled; 0 for all tools of the world."""
    near: Near = Near.WORLD
    styles: tuple[Style, ...] = tuple(Style)
    """Styles from which a world's style is drawn."""
    listing: bool = False
    """Whether each type has a tool that lists all its entities in pages."""
    size: float = 2.0
    """Factor for a world's counts; larger worlds give longer results."""
    page: int = 0
    """Rows per page of results; 0 for no paging."""
    units: bool = False
    """Whether some answers are asked for in a unit other than the tools'; converting is a hop."""
    codes: bool = False
    """Whether questions use codes if a type has them, and some tools accept only codes."""
    failures: int = 0
    """Number of first calls to one of the hops' tools that fail, as if a service were down."""
    domains: tuple[str, ...] = ()
    """Names of domains; empty for all."""
    forms: tuple[int, ...] = (0, 1, 2, 3)
    """Surface forms of questions to use; some can be held out."""
