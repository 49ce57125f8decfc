"""Shared code of all tool makers: arguments, and texts about fields and missing keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.reading import Path
from toolhop_tools.worlds.knobs import Style
from toolhop_tools.worlds.made import Column, MadeTool, Param, Role, Shape
from toolhop_tools.worlds.render import render
from toolhop_tools.worlds.surface import Surface
from toolhop_tools.worlds.world import CODE, NAME, World

_WRAPPED = {
    Style.SERVICE: "Replies with `ok` and `data`; an error has `ok` false, and an `error` with its "
    "`code` and `message`.",
    Style.TABLES: "The result has `columns` and `rows`.",
}
"""Sentence about results that all documentation of a style shares."""
Schema: TypeAlias = dict[str, JSON]
DATE: Schema = {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}


def text(said: str) -> Schema:
    """Return the schema of a string argument."""
    return {"type": "string", "description": said}


def enum(values: Iterable[JSON], said: str, **default: JSON) -> Schema:
    """Return the schema of an argument with a fixed set of values."""
    return {"type": "string", "enum": [*values], **default, "description": said}


def a(noun: str) -> str:
    """Prefix a noun with its indefinite article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


@dataclass(frozen=True)
class Maker:
    """Makes tools of one world in one style."""

    world: World
    surface: Surface

    def made(
        self,
        shape: Shape,
        kind: str,
        description: str,
        arguments: Arguments,
        columns: list[Column],
        reads: dict[str, Path],
        **parts: str,
    ) -> MadeTool:
        """Make a tool; `parts` fill its name pattern in `surface`."""
        required = tuple(arguments.required)
        about = self.surface.register.about if kind else ""
        sentences = [description, _WRAPPED.get(self.surface.style, ""), about]
        properties = {name: arguments.properties[name] for name in required} | arguments.properties
        return MadeTool(
            shape,
            kind,
            self.surface.function(shape, kind, **parts),
            " ".join(filter(None, sentences)),
            properties,
            required,
            tuple(arguments.params),
            tuple(columns),
            self.surface,
            self.world,
            render,
            reads,
        )

    def key(self, kind: str, argument: str, of: str, arguments: Arguments) -> None:
        """Add an argument for the key of an entity."""
        form, noun = self.surface.form(kind), self.world.domain.types[kind].noun
        arguments.add(
            Param(Role.KEY, of, argument, self.surface.key_type(kind), required=True),
            text(f"The {f'{of} {noun}'.lstrip()}'s {form}{self.example(kind)}."),
        )

    def example(self, kind: str) -> str:
        """Return the form of a type's codes if its tools take codes; else empty."""
        code = self.world.domain.types[kind].code
        return f", in the form {code} (each # a digit)" if kind in self.surface.keyed else ""

    def field(self, columns: list[Column], arguments: Arguments) -> None:
        """Add the argument `field`."""
        schema = enum((column.name for column in columns), "Which field.")
        for column in columns:
            choices = (column.name,)
            param = Param(Role.FIELD, column.of, "field", choices=choices, required=True)
            arguments.add(param, schema)

    def meaning(self, column: Column, related: Sequence[Column] = ()) -> str:
        """Describe a field and its content; `related` are relations of the same type."""
        kind, _, unit = column.type.partition(" ")
        if column.of in {NAME, CODE}:
            return f"`{column.name}`"
        said = {"date": "YYYY-MM-DD", "number": f"in {unit}" if unit else ""}.get(kind, "")
        if end := self.world.domain.types.get(kind):
            form = unit or NAME
            said = f"by {form}" if column.noun == end.noun else a(f"{end.noun}'s {form}")
        if end and column.many:
            # An entity is related to another only once.
            ones = [one.noun for one in related if one.type == column.type and not one.many]
            apart = f", the {' and the '.join(ones)} not among them" if ones else ""
            said = f"a list of {end.noun} {form}s{apart}"
        return f"`{column.name}`, the {column.noun}" + (f" ({said})" if said else "")

    def missing(self, form: str) -> str:
        """Describe what happens if no entity has the key."""
        gives = "gives no rows" if self.surface.style is Style.TABLES else "is an error"
        return f"An unknown {form} {gives}."


class Arguments:
    """Arguments of a tool under construction."""

    def __init__(self) -> None:
        self.params: list[Param] = []
        self.properties: dict[str, JSON] = {}
        self.required: list[str] = []

    def add(self, param: Param, schema: Schema) -> None:
        """Add a meaning, and the schema of its argument unless it has one."""
        self.params.append(param)
        self.properties.setdefault(param.argument, schema)
        if param.required and param.argument not in self.required:
            self.required.append(param.argument)
