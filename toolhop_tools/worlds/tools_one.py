"""Tools that know one entity: its record, and its code by its name or the other way round."""

from __future__ import annotations

from toolhop_tools.worlds.domain import EntityType
from toolhop_tools.worlds.knobs import Style
from toolhop_tools.worlds.made import MadeTool, Param, Role, Shape
from toolhop_tools.worlds.maker import Arguments, Maker, a


class OneMaker(Maker):
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
