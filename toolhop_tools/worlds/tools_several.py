"""Tools over several entities: found by what they are linked to, summed up, listed."""

from __future__ import annotations

from collections.abc import Iterator

from toolhop_sandbox.outcome import JSON
from toolhop_tools.reading import Path
from toolhop_tools.worlds.domain import COMPARED, EntityType, Kind
from toolhop_tools.worlds.filters import Filters
from toolhop_tools.worlds.knobs import Style
from toolhop_tools.worlds.made import Column, MadeTool, Param, Role, Shape
from toolhop_tools.worlds.maker import Arguments
from toolhop_tools.worlds.render import LISTED
from toolhop_tools.worlds.surface import Order, slug

NARROW = frozenset({Style.VALUES, Style.SERVICE})
"""Styles with a tool for each link; the others have one for each type."""

UNMATCHED = "If nothing matches or a name or code is unknown"


class SeveralMaker(Filters):
    """Makes the tools of several entities."""

    def find(self, kind: str, of: EntityType) -> Iterator[MadeTool]:
        """Entities by what they are linked to: one tool, or one for each link."""
        links = self.surface.links(kind)
        if self.surface.style not in NARROW:
            if links:
                yield self._finding(kind, of, links, None)
            return
        for column, _ in links:
            yield self._finding(kind, of, links, column)

    def _finding(
        self, kind: str, of: EntityType, links: list[tuple[Column, str]], narrow: Column | None
    ) -> MadeTool:
        surface, arguments = self.surface, Arguments()
        columns = [*surface.keys(kind), *surface.attributes(kind), *(link for link, _ in links)]
        self.filters(kind, of, links, narrow, arguments)
        order = surface.order
        sortable = surface.attributes(kind, *COMPARED)
        names: list[JSON] = [column.name for column in sortable]
        for column in sortable:
            arguments.add(
                Param(
                    Role.SORT,
                    column.of,
                    order.way,
                    choices=order.ways,
                    along=((order.by, column.name),),
                ),
                _way(order),
            )
            arguments.properties[order.by] = {
                "type": "string",
                "enum": names,
                "description": "The field to sort by. Entries with equal values keep the order "
                "in which they are stored.",
            }
        self.window(arguments, limit=surface.style in {Style.RECORDS, Style.TABLES})
        by = f" {self.linked(narrow, 'a given', dict(links)[narrow])}" if narrow else ""
        description = (
            f"Find {of.plural}{by}. {self.needed(arguments)}{self.listed(kind, bool(sortable))}"
        )
        reads = self.row_paths(kind)
        named = slug(narrow.name) if narrow else ""
        if narrow and surface.style is Style.SERVICE:
            named = slug(
                narrow.noun
                if "." not in narrow.of
                else f"{narrow.noun} of {narrow.of.split('.')[0]}"
            )
        return self.made(Shape.FIND, kind, description, arguments, columns, reads, link=named)

    def window(self, arguments: Arguments, *, limit: bool) -> None:
        """A page or a limit."""
        if self.surface.page:
            arguments.add(Param(Role.PAGE, "", "page"), _page(self.surface.page))
        elif limit:
            arguments.properties["limit"] = {
                "type": "integer",
                "minimum": 1,
                "default": 50,
                "description": "Give at most this many.",
            }

    def listed(self, kind: str, sortable: bool, *, paged: bool = False) -> str:
        """What a list of entities looks like."""
        surface, form = self.surface, self.surface.form(kind)
        each = " and ".join(self.shown(kind))
        if sortable:
            each += f" (and the field of `{surface.order.by}`, if given)"
        every = f"all {self.world.domain.types[kind].plural}" if paged else "all matches"
        counted = f"the number of {every}"
        match surface.style:
            case Style.VALUES:
                pair = f"; if sorted, a list of [{form}, value] pairs" if sortable else ""
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
        """Where the first row of a list stands."""
        match self.surface.style:
            case Style.VALUES:
                return {self.surface.form(kind): (0,)}
            case Style.TABLES:
                return {name: ("rows", 0, at) for at, name in enumerate(self.shown(kind))}
            case Style.SERVICE:
                return {name: ("data", "items", 0, name) for name in self.shown(kind)}
            case Style.RECORDS:
                rows = self.surface.rows_name(kind)
                return {name: (rows, 0, name) for name in self.shown(kind)}

    def total(self, kind: str, of: EntityType) -> MadeTool:
        """Count, total or mean over entities found so."""
        surface, arguments = self.surface, Arguments()
        links = surface.links(kind)
        columns = [*surface.keys(kind), *surface.attributes(kind), *(link for link, _ in links)]
        self.filters(kind, of, links, None, arguments)
        numbers = surface.attributes(kind, Kind.NUMBER)
        statistics: list[JSON] = ["count", "total", "mean"] if numbers else ["count"]
        schema: dict[str, JSON] = {
            "type": "string",
            "enum": statistics,
            "description": "What to compute"
            + ("; a mean is rounded to one decimal." if numbers else "."),
        }
        arguments.add(Param(Role.FIELD, "", "statistic", choices=("count",), required=True), schema)
        for column in numbers:
            arguments.add(
                Param(
                    Role.FIELD,
                    column.of,
                    "statistic",
                    choices=("total", "mean"),
                    required=True,
                    along=(("field", column.name),),
                ),
                schema,
            )
        if numbers:
            names: list[JSON] = [column.name for column in numbers]
            said = "; ".join(self.meaning(column) for column in numbers)
            arguments.properties["field"] = {
                "type": "string",
                "enum": names,
                "description": f"The field of a total or mean: {said}. A count needs none.",
            }
        description = f"Count {of.plural}" + (
            f", or take the total or mean of one of their fields. {self.needed(arguments)}"
            f"{UNMATCHED}, a count or total is 0 and a mean is null."
            if numbers
            else f". {self.needed(arguments)}{UNMATCHED}, the count is 0."
        )
        names_ = ["value", "unit"] if numbers else ["value"]
        reads = {"": surface.cell_path("value", names_)}
        return self.made(Shape.TOTAL, kind, description, arguments, columns, reads)

    def lister(self, kind: str, of: EntityType) -> MadeTool:
        """All entities of a type, paged."""
        surface, arguments = self.surface, Arguments()
        arguments.add(Param(Role.PAGE, "", "page"), _page(surface.page or LISTED))
        columns = surface.keys(kind)
        description = f"All {of.plural}, page by page. {self.listed(kind, False, paged=True)}"
        return self.made(Shape.LIST, kind, description, arguments, columns, self.row_paths(kind))


def _way(order: Order) -> dict[str, JSON]:
    up, down = order.ways
    said = f"It has no effect without `{order.by}`."
    if isinstance(up, bool):
        said = f"Whether the greatest or latest comes first. {said}"
        return {"type": "boolean", "default": up, "description": said}
    said = f"{up} puts the smallest or earliest first. {said}"
    return {"type": "string", "enum": [up, down], "default": up, "description": said}


def _page(size: int) -> dict[str, JSON]:
    said = f"Which page, of {size} results each."
    return {"type": "integer", "minimum": 1, "default": 1, "description": said}
