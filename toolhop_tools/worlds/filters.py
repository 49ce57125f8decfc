"""Arguments that select entities: links and conditions."""

from __future__ import annotations

import re

from toolhop_sandbox.outcome import JSON
from toolhop_tools.worlds.domain import EntityType, Kind
from toolhop_tools.worlds.knobs import Style
from toolhop_tools.worlds.made import Column, Param, Role
from toolhop_tools.worlds.maker import DATE, Arguments, Maker, Schema, enum, text
from toolhop_tools.worlds.world import NAME


class Filters(Maker):
    """Makes arguments that select entities."""

    def needed(self, arguments: Arguments) -> str:
        """Say which optional links must be given if none is required."""
        links = [param for param in arguments.params if param.role is Role.LINK]
        if any(param.required for param in links):
            return ""  # The schema says so.
        names = [f"`{param.argument}`" for param in links]
        several = "At least one of " if names[1:] else ""
        return f"{several}{', '.join(names)} has to be given. "

    def filters(
        self,
        kind: str,
        of: EntityType,
        links: list[tuple[Column, str]],
        narrow: Column | None,
        arguments: Arguments,
    ) -> None:
        """Add the arguments that select entities."""
        if self.surface.style is Style.TABLES:
            self.where(kind, links, arguments)
            return
        for column, end in sorted(links, key=lambda link: link[0] is not narrow):
            self.link(of, column, end, arguments, required=column is narrow)
        attributes = self.surface.attributes(kind)
        if self.surface.style is Style.VALUES:
            self.generic(of, attributes, arguments)
        else:
            self.bounds(of, attributes, arguments)

    def link(
        self, of: EntityType, column: Column, end: str, arguments: Arguments, *, required: bool
    ) -> None:
        """Add the argument for a link to an entity of a type."""
        noun, form = self.world.domain.types[end].noun, self.surface.form(end)
        include = "Include" if self.surface.service else "_include"
        own_list = column.many and "." not in column.of
        name = column.name + include * own_list
        said = f"Only {of.plural} {self.linked(column, 'this', end)}: the {noun}'s {form}"
        arguments.add(
            Param(Role.LINK, column.of, name, column.type, required=required),
            text(f"{said}{self.example(end)}."),
        )

    def linked(self, column: Column, which: str, end: str) -> str:
        """Describe a link to "this" or "a given" entity of a type."""
        noun = self.world.domain.types[end].noun
        if "." in column.of:
            return f"among the {column.noun} of {which} {noun}"
        if column.many:
            return f"with {which} {noun} among their {column.noun}"
        one = "one" if noun == column.noun else noun
        return f"whose {column.noun} is {which} {one}"

    def bounds(self, of: EntityType, attributes: list[Column], arguments: Arguments) -> None:
        """Add arguments for each attribute."""
        for column in attributes:
            kind, _, unit = column.type.partition(" ")
            only = f"Only {of.plural} whose {column.noun} is"
            if kind == Kind.CATEGORY:
                values = of.attributes[column.of].values
                param = Param(Role.IS, column.of, column.name, choices=values)
                arguments.add(param, enum(values, f"{only} this."))
                continue
            schemas: dict[str, Schema] = {
                "date": DATE,
                "year": {"type": "integer"},
                "number": {"type": "number"},
            }
            words = ("below", "above") if kind == Kind.NUMBER else ("before", "after")
            measure = {"date": " date (YYYY-MM-DD)", "year": " year"}.get(
                kind, f", in {unit}" if unit else " number"
            )
            spaced = re.sub("([A-Z])", r" \1", column.name).lower().replace("_", " ")
            for role, word in zip((Role.BELOW, Role.ABOVE), words, strict=True):
                argument = self.surface.argument(f"{spaced} {word}")
                arguments.add(
                    Param(role, column.of, argument, column.type),
                    {**schemas[kind], "description": f"{only} strictly {word} this{measure}."},
                )

    def generic(self, of: EntityType, attributes: list[Column], arguments: Arguments) -> None:
        """Add the arguments `filter_by`, `above`, `below` and `equal_to`."""
        kinds = {column.type for column in attributes}
        words = ["above", "below", *(["equal_to"] if Kind.CATEGORY in kinds else [])]
        bounds = " or ".join(f"`{word}`" for word in words)
        names = [column.name for column in attributes]
        arguments.properties["filter_by"] = enum(names, f"The field that {bounds} applies to.")
        dates = "; dates are YYYY-MM-DD, and later ones are above" if Kind.DATE in kinds else ""
        only = f"Only {of.plural} whose `filter_by` field is"
        for column in attributes:
            along = (("filter_by", column.name),)
            values = of.attributes[column.of].values
            compared = [(Role.ABOVE, "above"), (Role.BELOW, "below")]
            for role, word in [(Role.IS, "equal_to")] if values else compared:
                said = f"{only} this." if values else f"{only} strictly {word} this{dates}."
                takes = "" if values else column.type
                arguments.add(
                    Param(role, column.of, word, takes, values, along=along),
                    {"type": ["number", "string"], "description": said},
                )

    def where(self, kind: str, links: list[tuple[Column, str]], arguments: Arguments) -> None:
        """Add the argument `where`."""
        columns = [*(link for link, _ in links), *self.surface.attributes(kind)]
        names: list[JSON] = [column.name for column in columns]
        test: Schema = {
            "type": "object",
            "properties": {
                "column": {"type": "string", "enum": names},
                "operator": {"type": "string", "enum": ["=", ">", "<", "contains"]},
                "value": {"type": ["string", "number"]},
            },
            "required": ["column", "operator", "value"],
            "additionalProperties": False,
        }
        said = "; ".join(
            self.backward(kind, column) if "." in column.of else self.meaning(column, columns)
            for column in columns
        )
        linked = ", ".join(f"`{link.name}`" for link, _ in links)
        schema: Schema = {
            "type": "array",
            "items": test,
            "minItems": 1,
            "description": f"Conditions, all of which have to hold. Columns: {said}. Use contains "
            "for a list, = for anything else, and > or < (strict) for numbers, years and dates. "
            f"At least one condition has to use = or contains on {'one of ' * (len(links) > 1)}"
            f"{linked}.",
        }
        linking = [link for link, _ in links]
        for column in columns:
            of = self.world.domain.types[kind].attributes.get(column.of)
            values = of.values if of else ()
            if column in linking:
                operators = {Role.LINK: "contains" if column.many else "="}
            else:
                operators = {Role.IS: "="} if values else {Role.ABOVE: ">", Role.BELOW: "<"}
            for role, operator in operators.items():
                arguments.add(
                    Param(
                        role,
                        column.of,
                        "where",
                        "" if values else column.type,
                        values,
                        required=role is Role.LINK,
                        condition=(("column", column.name), ("operator", operator)),
                    ),
                    schema,
                )

    def backward(self, kind: str, column: Column) -> str:
        """Describe a column with the sources of a relation to this type."""
        of, noun = self.world.domain.types, self.world.domain.types[kind].noun
        end = of[column.of.partition(".")[0]]
        ends = f"a list of {end.noun} {column.type.partition(' ')[2] or NAME}s"
        return (
            f"`{column.name}`, the {end.plural} with this {noun} among their {column.noun} ({ends})"
        )
