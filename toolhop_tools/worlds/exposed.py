"""Determine what tools expose of a world, in any number of calls: which columns, and which
entities.

A column that no tool exposes cannot be known, whatever is called. The result is an upper bound on
what a clever player could find out: any entity of a list may be picked, every entity of a listable
type may be tried, and a filter exposes the column that it compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.reading import Reading
from toolhop_tools.worlds.domain import Domain
from toolhop_tools.worlds.made import MadeTool, Param, Role, Shape
from toolhop_tools.worlds.world import CODE, NAME, World

Column: TypeAlias = tuple[str, str]
"""A type with one of its attributes or relations, or ``code``."""
COMPARED = {Role.ABOVE, Role.BELOW, Role.IS, Role.SORT, Role.FIELD}
COMPUTING = {Shape.CONVERT, Shape.DAYS, Shape.SHIFT, Shape.INITIALS, Shape.DIGITS}
"""Shapes that compute without looking anything up."""


def exposed(tools: Iterable[MadeTool], start: Iterable[str], world: World) -> set[Column]:
    """Return the columns of a world about which some sequence of calls reveals something.

    Args:
        tools: the tools on offer; those over another register or world expose none of its columns.
        start: types of the names and codes in the question.
        world: the world whose columns are meant.
    """
    tools, reached = list(tools), set(start)
    while True:
        usable = [(tool, links) for tool in tools if (links := _usable(tool, reached)) is not None]
        given = {
            column.type
            for tool, _ in usable
            for column in tool.columns
            if tool.shape not in COMPUTING and column.of in tool.reads
        }
        if given <= reached:
            break
        reached |= given
    columns = set[Column]()
    for tool, links in usable:
        if tool.world is world:
            named = {(tool.type, CODE)} if tool.shape is Shape.IDENTIFY else set()
            columns |= named | {(tool.type, of) for of in tool.reads if of}
            columns |= {(tool.type, param.of) for param in tool.params if param.role in COMPARED}
            columns |= {_linked(tool, param) for param in links}
    return inferred(columns, world.domain)


def needed(tool: MadeTool, arguments: Mapping[str, JSON], reading: Reading | None) -> set[Column]:
    """Return the columns that must all be exposed for a call's result to be known."""
    if tool.shape in COMPUTING:
        return set()
    meant = [param for param, _ in tool.meant(arguments)]
    columns = {_linked(tool, param) for param in meant if param.role is Role.LINK}
    columns |= {(tool.type, param.of) for param in meant if param.role in COMPARED and param.of}
    if tool.shape is Shape.IDENTIFY:
        columns.add((tool.type, CODE))
    elif tool.shape is Shape.RECORD and not columns and reading is not None:
        read = [of for of, path in tool.reads.items() if path == reading.path]
        columns |= {(tool.type, CODE if of == NAME else of) for of in read}
    return columns


def _usable(tool: MadeTool, reached: set[str]) -> list[Param] | None:
    """Return the links that a tool can be given; None if it cannot be called."""
    keys = [param for param in tool.params if param.role is Role.KEY]
    links = [param for param in tool.params if param.role is Role.LINK]
    given = [param for param in links if param.takes in reached]
    asked = {param.argument for param in links if param.required}
    missing = asked - {param.argument for param in given} or (links and not given)
    return None if missing or any(param.takes not in reached for param in keys) else given


def _linked(tool: MadeTool, param: Param) -> Column:
    kind, _, relation = param.of.rpartition(".")
    return kind or tool.type, relation


def inferred(columns: set[Column], domain: Domain) -> set[Column]:
    """Return the columns with those that can be inferred by the domain's constraints: if all but
    one of the columns bound by a constraint are known, so is the last.
    """
    columns = set(columns)
    bound = []
    for kind, relation, link in domain.links:
        if link.same:
            paths = zip((kind, link.to), link.same, strict=True)
            steps = [_steps(domain, *path) for path in paths]
            bound.append({(kind, relation)}.union(*steps))
    while lacking := [group - columns for group in bound if len(group - columns) == 1]:
        columns = columns.union(*lacking)
    return columns


def _steps(domain: Domain, kind: str, path: str) -> set[Column]:
    steps = path.split(".") if path else []
    return {(domain.end(kind, ".".join(steps[:at])), step) for at, step in enumerate(steps)}
