"""Lookup tools: one entity by its keys, several by their links, or all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolhop_tools.reading import Path
from toolhop_tools.worlds.domain import COMPARED, EntityType, Kind
from toolhop_tools.worlds.filters import Filters
from toolhop_tools.worlds.knobs import Style
from toolhop_tools.worlds.made import LEAST_KEYS, Column, MadeTool, Param, Role, Shape
from toolhop_tools.worlds.maker import Arguments, Schema, a, enum, text
from toolhop_tools.worlds.render import LISTED
from toolhop_tools.worlds.surface import Order, slug

NARROW = frozenset({Style.VALUES, Style.SERVICE})
"""Styles with one tool per link; the others have one per type."""
UNMATCHED = "If nothing matches or a name or code is unknown"


class LookupMaker(Filters):
    """Makes lookup tools."""

    def record(self, kind: str, of: EntityType) -> MadeTool:
        """Make a tool that returns an entity's fields by its key."""
        surface, arguments = self.surface, Arguments()
        keys = surface.keys(kind)
        columns = [*keys, *surface.attributes(kind), *surface.relations(kind)]
        bare = surface.style is Style.VALUES
        argument = surface.argument(kind) if bare else keys[0].name
        self.key(kind, argument, "", arguments)
        names = [column.name for column in columns]
        if bare:
            self.field(columns[1:], arguments)
        said = "; ".join(self.meaning(column, columns) for column in columns[1:])
        gives = "One field of" if bare else "The record of"
        description = f"{gives} {a(of.noun)}. Fields: {said}. {self.missing(surface.form(kind))}"
        reads = {column.of: surface.cell_path(column.name, names) for column in columns}
        return self.made(Shape.RECORD, kind, description, arguments, columns, reads)

    def identify(self, kind: str, of: EntityType) -> MadeTool:
        """Make a tool that returns an entity's key by its other identifier."""
        surface, arguments = self.surface, Arguments()
        key, other = surface.keys(kind)
        param = Param(Role.KEY, "", other.name, other.type, required=True)
        arguments.add(param, text(f"The {of.noun}'s {other.name}."))
        description = (
            f"The {key.name} of the {of.noun} with a given {other.name}. {self.missing(other.name)}"
        )
        names = [key.name, other.name]
        reads = {key.of: surface.cell_path(key.name, names)}
        return self.made(
            Shape.IDENTIFY, kind, description, arguments, [key, other], reads, to=key.name
        )

    def match(self, kind: str, of: EntityType) -> MadeTool | None:
        """Make a tool that finds the one entity with several keys; None for fewer than two keys."""
        surface, arguments = self.surface, Arguments()
        links, categories = surface.links(kind), surface.attributes(kind, Kind.CATEGORY)
        for column, end in links:
            self.link(of, column, end, arguments, required=False)
        self.bounds(of, categories, arguments)
        if not links or len(arguments.params) < LEAST_KEYS:
            return None
        columns = [*surface.keys(kind), *categories, *(link for link, _ in links)]
        shown = self.surface.shown(kind)[: 1 if surface.style is Style.VALUES else None]
        gives = "the result has no rows" if surface.style is Style.TABLES else "it is an error"
        keys = ", ".join(f"`{name}`" for name in arguments.properties)
        description = (
            f"Look up the one {of.noun} that has all the given keys. Gives its "
            f"{' and '.join(shown)}. At least two of {keys} have to be given. If no {of.noun} has "
            f"them all, or more than one has, {gives}."
        )
        reads = {name: surface.cell_path(name, shown) for name in shown}
        return self.made(Shape.MATCH, kind, description, arguments, columns, reads)

    # -- several ----------------------------------------------------------------------------

    def find(self, kind: str, of: EntityType) -> Iterator[MadeTool]:
        """Make the tools that find entities by their links: one tool, or one for each link."""
        links = self.surface.links(kind)
        if self.surface.style in NARROW:
            yield from (self._finding(kind, of, links, column) for column, _ in links)
        elif links:
            yield self._finding(kind, of, links, None)

    def _finding(
        self, kind: str, of: EntityType, links: list[tuple[Column, str]], narrow: Column | None
    ) -> MadeTool:
        surface, arguments = self.surface, Arguments()
        columns = [*surface.keys(kind), *surface.attributes(kind), *(link for link, _ in links)]
        self.filters(kind, of, links, narrow, arguments)
        order = surface.order
        sortable = surface.attributes(kind, *COMPARED)
        for column in sortable:
            along = ((order.by, column.name),)
            param = Param(Role.SORT, column.of, order.way, choices=order.ways, along=along)
            arguments.add(param, _way(order))
        arguments.properties[order.by] = enum(
            (column.name for column in sortable),
            "The field to sort by. Entries with equal values keep the order in which they are "
            "stored.",
        )
        if surface.page:
            arguments.add(Param(Role.PAGE, "", "page"), _page(surface.page))
        elif not narrow:
            arguments.properties["limit"] = {
                "type": "integer",
                "minimum": 1,
                "default": 50,
                "description": "Give at most this many.",
            }
        by = f" {self.linked(narrow, 'a given', dict(links)[narrow])}" if narrow else ""
        description = f"Find {of.plural}{by}. {self.needed(arguments)}{self.listed(kind)}"
        named = ""
        if narrow:
            end, _, _ = narrow.of.rpartition(".")
            own = narrow.noun if surface.service else narrow.name
            named = slug(f"{narrow.noun} of {end}" if end else own)
        reads = self.row_paths(kind)
        return self.made(Shape.FIND, kind, description, arguments, columns, reads, link=named)

    def listed(self, kind: str, *, paged: bool = False) -> str:
        """Describe a list of entities."""
        surface, form = self.surface, self.surface.form(kind)
        each = " and ".join(self.surface.shown(kind))
        if not paged:
            each += f" (and the field of `{surface.order.by}`, if given)"
        every = f"all {self.world.domain.types[kind].plural}" if paged else "all matches"
        counted = f"the number of {every}"
        match surface.style:
            case Style.VALUES:
                pair = f"; if sorted, a list of [{form}, value] pairs" if not paged else ""
                gives, empty = f"Gives a list of {form}s{pair}.", "The list is empty"
            case Style.TABLES:
                gives = f"The columns are {each}; `row_count` is {counted}."
                empty = "There are no rows"
            case _:
                rows = surface.rows_name(kind)
                gives = f"Gives `total`, {counted}, and `{rows}`, each with its {each}."
                empty = f"`{rows}` is empty"
        when = [] if paged else [UNMATCHED.lower()]
        if surface.page or paged:
            when.append("beyond the last page")
        return f"{gives} {empty} {', and '.join(when)}."

    def row_paths(self, kind: str) -> dict[str, Path]:
        """Return the paths to the first row of a list."""
        match self.surface.style:
            case Style.VALUES:
                return {self.surface.form(kind): (0,)}
            case Style.TABLES:
                return {name: ("rows", 0, at) for at, name in enumerate(self.surface.shown(kind))}
            case Style.SERVICE:
                return {name: ("data", "items", 0, name) for name in self.surface.shown(kind)}
            case Style.RECORDS:
                rows = self.surface.rows_name(kind)
                return {name: (rows, 0, name) for name in self.surface.shown(kind)}

    def total(self, kind: str, of: EntityType) -> MadeTool:
        """Make a tool that returns the count, total or mean over entities found in the same way."""
        surface, arguments = self.surface, Arguments()
        links = surface.links(kind)
        columns = [*surface.keys(kind), *surface.attributes(kind), *(link for link, _ in links)]
        self.filters(kind, of, links, None, arguments)
        numbers = surface.attributes(kind, Kind.NUMBER)
        schema = enum(["count"], "What to compute.")
        if numbers:
            said = "What to compute; a mean is rounded to one decimal."
            schema = enum(["count", "total", "mean"], said)
            meant = "; ".join(self.meaning(column) for column in numbers)
            arguments.properties["field"] = enum(
                (column.name for column in numbers),
                f"The field of a total or mean: {meant}. A count needs none.",
            )
        arguments.add(Param(Role.FIELD, "", "statistic", choices=("count",), required=True), schema)
        param = Param(Role.FIELD, "", "statistic", choices=("total", "mean"), required=True)
        for column in numbers:
            along = (("field", column.name),)
            arguments.add(replace(param, of=column.of, along=along), schema)
        description = f"Count {of.plural}" + (
            f", or take the total or mean of one of their fields. {self.needed(arguments)}"
            f"{UNMATCHED}, a count or total is 0 and a mean is null."
            if numbers
            else f". {self.needed(arguments)}{UNMATCHED}, the count is 0."
        )
        reads = {"": surface.cell_path("value", ["value"])}
        return self.made(Shape.TOTAL, kind, description, arguments, columns, reads)

    def lister(self, kind: str, of: EntityType) -> MadeTool:
        """Make a tool that lists all entities of a type, in pages."""
        surface, arguments = self.surface, Arguments()
        arguments.add(Param(Role.PAGE, "", "page"), _page(surface.page or LISTED))
        columns = surface.keys(kind)
        description = f"All {of.plural}, page by page. {self.listed(kind, paged=True)}"
        return self.made(Shape.LIST, kind, description, arguments, columns, self.row_paths(kind))


def _way(order: Order) -> Schema:
    up, down = order.ways
    said = f"It has no effect without `{order.by}`."
    if isinstance(up, bool):
        said = f"Whether the greatest or latest comes first. {said}"
        return {"type": "boolean", "default": up, "description": said}
    return enum([up, down], f"{up} puts the smallest or earliest first. {said}", default=up)


def _page(size: int) -> Schema:
    said = f"Which page, of {size} results each."
    return {"type": "integer", "minimum": 1, "default": 1, "description": said}
