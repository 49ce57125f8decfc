"""Arguments that say which entities are meant: links and conditions."""

from __future__ import annotations

from toolhop_sandbox.outcome import JSON
from toolhop_tools.worlds.domain import EntityType, Kind
from toolhop_tools.worlds.knobs import Style
from toolhop_tools.worlds.made import Column, Param, Role
from toolhop_tools.worlds.maker import DATE, Arguments, Maker
from toolhop_tools.worlds.surface import NAME


class Filters(Maker):
    """Makes the arguments that entities are found by."""

    def needed(self, arguments: Arguments) -> str:
        """Which of the optional links has to be given, where none is required."""
        links = [param for param in arguments.params if param.role is Role.LINK]
        if any(param.required for param in links):
            return ""  # The schema says it.
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
        """What entities are found by."""
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
        """The argument of a link to an entity of a type."""
        noun, form = self.world.domain.types[end].noun, self.surface.form(end)
        include = "Include" if self.surface.service else "_include"
        own_list = column.many and "." not in column.of
        name = column.name + include * own_list
        arguments.add(
            Param(Role.LINK, column.of, name, column.type, required=required),
            {
                "type": "string",
                "description": f"Only {of.plural} {self.linked(column, 'this', end)}: the "
                f"{noun}'s {form}{self.example(end)}.",
            },
        )

    def linked(self, column: Column, which: str, end: str) -> str:
        """A link to "this" or "a given" entity of a type, in words."""
        noun = self.world.domain.types[end].noun
        if "." in column.of:
            return f"among the {column.noun} of {which} {noun}"
        if column.many:
            return f"with {which} {noun} among their {column.noun}"
        one = "one" if noun == column.noun else noun
        return f"whose {column.noun} is {which} {one}"

    def bounds(self, of: EntityType, attributes: list[Column], arguments: Arguments) -> None:
        """Arguments for each attribute."""
        for column in attributes:
            kind, _, unit = column.type.partition(" ")
            if kind == Kind.CATEGORY:
                values: list[JSON] = list(of.attributes[column.of].values)
                arguments.add(
                    Param(Role.IS, column.of, column.name, choices=tuple(values)),
                    {
                        "type": "string",
                        "enum": values,
                        "description": f"Only {of.plural} whose {column.noun} is this.",
                    },
                )
                continue
            words = ("before", "after") if kind in {Kind.DATE, Kind.YEAR} else ("below", "above")
            for role, word in zip((Role.BELOW, Role.ABOVE), words, strict=True):
                schema = (
                    DATE
                    if kind == Kind.DATE
                    else {"type": "number" if kind == Kind.NUMBER else "integer"}
                )
                measure = {"date": " date (YYYY-MM-DD)", "year": " year"}.get(
                    kind, f", in {unit}" if unit else " number"
                )
                said = f"Only {of.plural} whose {column.noun} is strictly {word} this{measure}."
                arguments.add(
                    Param(
                        role,
                        column.of,
                        self.surface.argument(f"{_spaced(column.name)} {word}"),
                        column.type,
                    ),
                    {**schema, "description": said},
                )

    def generic(self, of: EntityType, attributes: list[Column], arguments: Arguments) -> None:
        """The arguments `filter_by`, `above`, `below` and `equal_to`."""
        if not attributes:
            return
        names: list[JSON] = [column.name for column in attributes]
        schema: dict[str, JSON] = {"type": "string", "enum": names}
        arguments.properties["filter_by"] = schema
        bound: dict[str, JSON] = {"type": ["number", "string"]}
        dated = any(column.type == Kind.DATE for column in attributes)
        dates = "; dates are YYYY-MM-DD, and later ones are above" if dated else ""
        for column in attributes:
            along = (("filter_by", column.name),)
            if column.type == Kind.CATEGORY:
                values: tuple[JSON, ...] = of.attributes[column.of].values
                arguments.add(
                    Param(Role.IS, column.of, "equal_to", choices=values, along=along),
                    {**bound, "description": f"Only {of.plural} whose `filter_by` field is this."},
                )
                continue
            for role, word in ((Role.ABOVE, "above"), (Role.BELOW, "below")):
                arguments.add(
                    Param(role, column.of, word, column.type, along=along),
                    {
                        **bound,
                        "description": f"Only {of.plural} whose `filter_by` field is strictly "
                        f"{word} this{dates}.",
                    },
                )
        bounds = [
            f"`{word}`" for word in ("above", "below", "equal_to") if word in arguments.properties
        ]
        schema["description"] = f"The field that {' or '.join(bounds)} applies to."

    def where(self, kind: str, links: list[tuple[Column, str]], arguments: Arguments) -> None:
        """The argument `where`."""
        columns = [*(link for link, _ in links), *self.surface.attributes(kind)]
        names: list[JSON] = [column.name for column in columns]
        test: dict[str, JSON] = {
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
        schema: dict[str, JSON] = {
            "type": "array",
            "items": test,
            "minItems": 1,
            "description": f"Conditions, all of which have to hold. Columns: {said}. Use contains "
            "for a list, = for anything else, and > or < (strict) for numbers, years and dates. "
            f"At least one condition has to use = or contains on {'one of ' * (len(links) > 1)}"
            f"{linked}.",
        }
        for column in columns:
            end = any(column is link for link, _ in links)
            roles = (
                ((Role.LINK, "contains" if column.many else "="),)
                if end
                else ((Role.IS, "="),)
                if column.type == Kind.CATEGORY
                else ((Role.ABOVE, ">"), (Role.BELOW, "<"))
            )
            for role, operator in roles:
                condition: tuple[tuple[str, JSON], ...] = (
                    ("column", column.name),
                    ("operator", operator),
                )
                choices: tuple[JSON, ...] = (
                    self.world.domain.types[kind].attributes[column.of].values
                    if role is Role.IS
                    else ()
                )
                arguments.add(
                    Param(
                        role,
                        column.of,
                        "where",
                        "" if choices else column.type,
                        choices,
                        required=end,
                        condition=condition,
                    ),
                    schema,
                )

    def backward(self, kind: str, column: Column) -> str:
        """A column with the other ends of a relation to this type, and what it holds."""
        of, noun = self.world.domain.types, self.world.domain.types[kind].noun
        end = of[column.of.partition(".")[0]]
        ends = f"a list of {end.noun} {column.type.partition(' ')[2] or NAME}s"
        return (
            f"`{column.name}`, the {end.plural} with this {noun} among their {column.noun} ({ends})"
        )


def _spaced(name: str) -> str:
    """The words of a name, be it in camel case."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).replace(
        "_", " "
    )
