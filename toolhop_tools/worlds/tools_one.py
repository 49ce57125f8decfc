"""Tools that give one entity: its record, its code by its name, its name by several keys."""

from __future__ import annotations

from toolhop_tools.worlds.domain import EntityType, Kind
from toolhop_tools.worlds.filters import Filters
from toolhop_tools.worlds.knobs import Style
from toolhop_tools.worlds.made import LEAST_KEYS, MadeTool, Param, Role, Shape
from toolhop_tools.worlds.maker import Arguments, a


class OneMaker(Filters):
    """Makes the tools of one entity."""

    def record(self, kind: str, of: EntityType) -> MadeTool:
        """An entity's fields, by its key."""
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
        """An entity's key, by its other identifier."""
        surface, arguments = self.surface, Arguments()
        key, other = surface.keys(kind)
        arguments.add(
            Param(Role.KEY, "", other.name, other.type, required=True),
            {"type": "string", "description": f"The {of.noun}'s {other.name}."},
        )
        description = (
            f"The {key.name} of the {of.noun} with a given {other.name}. {self.missing(other.name)}"
        )
        names = [key.name, other.name]
        reads = {key.of: surface.cell_path(key.name, names)}
        return self.made(
            Shape.IDENTIFY, kind, description, arguments, [key, other], reads, to=key.name
        )

    def match(self, kind: str, of: EntityType) -> MadeTool | None:
        """The only entity that several keys fit; None where the type has fewer than two."""
        surface, arguments = self.surface, Arguments()
        links, categories = surface.links(kind), surface.attributes(kind, Kind.CATEGORY)
        for column, end in links:
            self.link(of, column, end, arguments, required=False)
        self.bounds(of, categories, arguments)
        if not links or len(arguments.params) < LEAST_KEYS:
            return None
        columns = [*surface.keys(kind), *categories, *(link for link, _ in links)]
        shown = self.shown(kind)[: 1 if surface.style is Style.VALUES else None]
        gives = "the result has no rows" if surface.style is Style.TABLES else "it is an error"
        keys = ", ".join(f"`{name}`" for name in arguments.properties)
        description = (
            f"Look up the one {of.noun} that has all the given keys. Gives its "
            f"{' and '.join(shown)}. At least two of {keys} have to be given. If no {of.noun} has "
            f"them all, or more than one has, {gives}."
        )
        reads = {name: surface.cell_path(name, shown) for name in shown}
        return self.made(Shape.MATCH, kind, description, arguments, columns, reads)
