"""Tools that work something out: of two entities, of a number, of dates, of a text."""

from __future__ import annotations

from toolhop_sandbox.outcome import JSON
from toolhop_tools.worlds.domain import COMPARED, EntityType, Kind
from toolhop_tools.worlds.made import Column, MadeTool, Param, Role, Shape
from toolhop_tools.worlds.maker import DATE, Arguments, Maker
from toolhop_tools.worlds.surface import CODE, NAME
from toolhop_tools.worlds.units import others

MOST_MEASURE = 10**12
"""Greatest number that is converted."""
MOST_DAYS = 100_000
"""Most days that a date is moved by."""


class WorkedMaker(Maker):
    """Makes the tools that work something out."""

    def units(self) -> list[str]:
        """Units of the domain that convert, and what they convert into."""
        own = [
            of.unit for kind in self.world.domain.types.values() for of in kind.attributes.values()
        ]
        return list(
            dict.fromkeys(unit for name in own if others(name) for unit in (name, *others(name)))
        )

    def compare(self, kind: str, of: EntityType) -> MadeTool:
        """Of two entities the one with the greater or smaller value."""
        surface, arguments = self.surface, Arguments()
        columns = self.two(kind, arguments)
        way: dict[str, JSON] = {
            "type": "string",
            "enum": ["smaller", "greater"],
            "default": "greater",
            "description": "Which of the two to give; an earlier date or year counts as smaller.",
        }
        for column in columns:
            arguments.add(
                Param(
                    Role.FIELD,
                    column.of,
                    "which",
                    choices=("smaller", "greater"),
                    along=(("field", column.name),),
                ),
                way,
            )
        form = surface.form(kind)
        said = "; ".join(self.meaning(column) for column in columns)
        description = (
            f"Compare two {of.plural} in one field, and give the {form} of the one with the "
            f"greater or smaller value. Fields: {said}. Equal values are an error, and so is an "
            f"unknown {form}."
        )
        reads = {form: surface.cell_path(form, [form])}
        return self.made(
            Shape.COMPARE, kind, description, arguments, [surface.keys(kind)[0], *columns], reads
        )

    def two(self, kind: str, arguments: Arguments) -> list[Column]:
        """Arguments of tools that take two entities and a field; the fields."""
        columns = self.surface.attributes(kind, *COMPARED)
        for argument in ("first", "second"):
            self.key(kind, argument, argument, arguments)
        self.field(columns, arguments)
        return columns

    def gap(self, kind: str, of: EntityType) -> MadeTool:
        """By how much two entities differ."""
        surface, arguments = self.surface, Arguments()
        columns = self.two(kind, arguments)
        said = "; ".join(self.meaning(column) for column in columns)
        description = (
            f"The difference between two {of.plural} in one field, never negative; dates differ "
            f"in days, years in years, other fields in their own unit. Fields: {said}. "
            f"An unknown {surface.form(kind)} is an error."
        )
        reads = {"": surface.cell_path("difference", ["difference", "unit"])}
        return self.made(
            Shape.GAP, kind, description, arguments, [surface.keys(kind)[0], *columns], reads
        )

    def convert(self, units: list[str]) -> MadeTool:
        """A measure in another unit."""
        surface, arguments = self.surface, Arguments()
        start, into = surface.argument("from_unit"), surface.argument("to_unit")
        names: list[JSON] = [*units]
        for unit in units:
            arguments.add(
                Param(
                    Role.VALUE,
                    unit,
                    "value",
                    f"number {unit}",
                    required=True,
                    along=((start, unit),),
                ),
                {
                    "type": "number",
                    "minimum": -MOST_MEASURE,
                    "maximum": MOST_MEASURE,
                    "description": "The number to convert.",
                },
            )
        for argument, said in (
            (start, "The unit that it is in."),
            (into, "The unit to convert it to, of the same quantity."),
        ):
            arguments.properties[argument] = {"type": "string", "enum": names, "description": said}
            arguments.required.append(argument)
        arguments.params += [
            Param(Role.UNIT, unit, into, choices=(unit,), required=True) for unit in units
        ]
        description = (
            "Convert a measurement to another unit, rounded to one decimal. Units that do not "
            "convert into each other are an error."
        )
        reads = {"": surface.cell_path("value", ["value", "unit"])}
        return self.made(Shape.CONVERT, "", description, arguments, [], reads)

    def days(self) -> MadeTool:
        """Days between two dates."""
        surface, arguments = self.surface, Arguments()
        for of in ("first", "second"):
            arguments.add(
                Param(
                    Role.VALUE, of, surface.argument(f"{of} date"), str(Kind.DATE), required=True
                ),
                {**DATE, "description": "A date, as YYYY-MM-DD."},
            )
        description = (
            "The number of days between two dates, never negative. A date that does not exist is "
            "an error."
        )
        reads = {"": surface.cell_path("days", ["days"])}
        return self.made(Shape.DAYS, "", description, arguments, [], reads)

    def shift(self) -> MadeTool:
        """The date a number of days after another."""
        surface, arguments = self.surface, Arguments()
        arguments.add(
            Param(Role.VALUE, "first", surface.argument("start date"), "date", required=True),
            {**DATE, "description": "A date, as YYYY-MM-DD."},
        )
        arguments.add(
            Param(Role.VALUE, "second", "days", "number days", required=True),
            {
                "type": "integer",
                "minimum": 0,
                "maximum": MOST_DAYS,
                "description": "How many days later.",
            },
        )
        description = (
            "The date a number of days after another, as YYYY-MM-DD. A date that does not exist is "
            "an error."
        )
        reads = {"": surface.cell_path("date", ["date"])}
        return self.made(Shape.SHIFT, "", description, arguments, [], reads)

    def initials(self) -> MadeTool:
        """The initials of a name."""
        types = {kind: kind for kind in self.world.domain.types}
        return self._text(
            Shape.INITIALS, types, NAME, "initials",
            "The initials of a name: the first letter of each of its words, in capitals and with "
            "nothing in between. A name without words is an error.",
        )  # fmt: skip

    def digits(self) -> MadeTool:
        """The number in a code."""
        coded = [kind for kind, of in self.world.domain.types.items() if of.code]
        return self._text(
            Shape.DIGITS, {kind: f"{kind} {CODE}" for kind in coded}, CODE, "number",
            "The number in a code: its digits, without the letters around them. A code without "
            "digits is an error.",
        )  # fmt: skip

    def _text(
        self, shape: Shape, takes: dict[str, str], argument: str, cell: str, description: str
    ) -> MadeTool:
        surface, arguments = self.surface, Arguments()
        for kind, taken in takes.items():
            arguments.add(
                Param(Role.VALUE, kind, argument, taken, required=True),
                {"type": "string", "description": f"The {argument}."},
            )
        reads = {"": surface.cell_path(cell, [cell])}
        return self.made(shape, "", description, arguments, [], reads)
