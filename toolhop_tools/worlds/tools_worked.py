"""Tools that compute something from two entities, a number, dates or a text."""

from __future__ import annotations

from toolhop_tools.reading import Path
from toolhop_tools.worlds.domain import COMPARED, EntityType
from toolhop_tools.worlds.made import Column, MadeTool, Param, Role, Shape
from toolhop_tools.worlds.maker import DATE, Arguments, Maker, Schema, enum, text
from toolhop_tools.worlds.units import others
from toolhop_tools.worlds.world import CODE, NAME

MOST_MEASURE = 10**12
"""Greatest number that is converted."""
MOST_DAYS = 100_000
"""Maximum number of days by which a date is shifted."""
DAY: Schema = {**DATE, "description": "A date, as YYYY-MM-DD."}


class WorkedMaker(Maker):
    """Makes computing tools."""

    def compare(self, kind: str, of: EntityType) -> MadeTool:
        """Make a tool that returns the one of two entities with the greater or smaller value."""
        surface, arguments = self.surface, Arguments()
        columns = self.two(kind, arguments)
        choices = ("smaller", "greater")
        said = "Which of the two to give; an earlier date or year counts as smaller."
        way = enum(choices, said, default="greater")
        for column in columns:
            along = (("field", column.name),)
            arguments.add(Param(Role.FIELD, column.of, "which", choices=choices, along=along), way)
        form = surface.form(kind)
        fields = "; ".join(self.meaning(column) for column in columns)
        description = (
            f"Compare two {of.plural} in one field, and give the {form} of the one with the "
            f"greater or smaller value. Fields: {fields}. Equal values are an error, and so is an "
            f"unknown {form}."
        )
        reads = {form: surface.cell_path(form, [form])}
        columns = [surface.keys(kind)[0], *columns]
        return self.made(Shape.COMPARE, kind, description, arguments, columns, reads)

    def two(self, kind: str, arguments: Arguments) -> list[Column]:
        """Add arguments for two entities and a field, and return the possible fields."""
        columns = self.surface.attributes(kind, *COMPARED)
        for argument in ("first", "second"):
            self.key(kind, argument, argument, arguments)
        self.field(columns, arguments)
        return columns

    def gap(self, kind: str, of: EntityType) -> MadeTool:
        """Make a tool that returns the difference between two entities."""
        surface, arguments = self.surface, Arguments()
        columns = self.two(kind, arguments)
        fields = "; ".join(self.meaning(column) for column in columns)
        description = (
            f"The difference between two {of.plural} in one field, never negative; dates differ "
            f"in days, years in years, other fields in their own unit. Fields: {fields}. "
            f"An unknown {surface.form(kind)} is an error."
        )
        columns = [surface.keys(kind)[0], *columns]
        return self.made(Shape.GAP, kind, description, arguments, columns, self.cell("difference"))

    def cell(self, name: str) -> dict[str, Path]:
        """Return the path to the single value of a result."""
        return {"": self.surface.cell_path(name, [name])}

    def convert(self) -> MadeTool:
        """Make a tool that converts a measure to another unit."""
        arguments = Arguments()
        start, into = self.surface.argument("from_unit"), self.surface.argument("to_unit")
        types = self.world.domain.types.values()
        own = [of.unit for kind in types for of in kind.attributes.values() if others(of.unit)]
        units = list(dict.fromkeys(unit for name in own for unit in (name, *others(name))))
        value: Schema = {"type": "number", "minimum": -MOST_MEASURE, "maximum": MOST_MEASURE}
        value["description"] = "The number to convert."
        for unit in units:
            along = ((start, unit),)
            param = Param(Role.VALUE, unit, "value", f"number {unit}", required=True, along=along)
            arguments.add(param, value)
        arguments.properties[start] = enum(units, "The unit that it is in.")
        arguments.required.append(start)
        target = enum(units, "The unit to convert it to, of the same quantity.")
        for unit in units:
            param = Param(Role.UNIT, unit, into, choices=(unit,), required=True)
            arguments.add(param, target)
        description = (
            "Convert a measurement to another unit, rounded to one decimal. Units that do not "
            "convert into each other are an error."
        )
        return self.made(Shape.CONVERT, "", description, arguments, [], self.cell("value"))

    def days(self) -> MadeTool:
        """Make a tool that counts the days between two dates."""
        arguments = Arguments()
        for of in ("first", "second"):
            self.value(arguments, of, f"{of} date", "date", DAY)
        description = (
            "The number of days between two dates, never negative. A date that does not exist is "
            "an error."
        )
        return self.made(Shape.DAYS, "", description, arguments, [], self.cell("days"))

    def shift(self) -> MadeTool:
        """Make a tool that adds days to a date."""
        arguments = Arguments()
        self.value(arguments, "first", "start date", "date", DAY)
        later: Schema = {"type": "integer", "minimum": 0, "maximum": MOST_DAYS}
        later["description"] = "How many days later."
        self.value(arguments, "second", "days", "number days", later)
        description = (
            "The date a number of days after another, as YYYY-MM-DD. A date that does not exist is "
            "an error."
        )
        return self.made(Shape.SHIFT, "", description, arguments, [], self.cell("date"))

    def initials(self) -> MadeTool:
        """Make a tool that returns the initials of a name."""
        arguments = Arguments()
        for kind in self.world.domain.types:
            self.value(arguments, kind, NAME, kind, text("The name."))
        description = (
            "The initials of a name: the first letter of each of its words, in capitals and with "
            "nothing in between. A name without words is an error."
        )
        return self.made(Shape.INITIALS, "", description, arguments, [], self.cell("initials"))

    def digits(self) -> MadeTool:
        """Make a tool that returns the number in a code."""
        arguments = Arguments()
        for kind, of in self.world.domain.types.items():
            if of.code:
                self.value(arguments, kind, CODE, f"{kind} {CODE}", text("The code."))
        description = (
            "The number in a code: its digits, without the letters around them. A code without "
            "digits is an error."
        )
        return self.made(Shape.DIGITS, "", description, arguments, [], self.cell("number"))

    def value(self, arguments: Arguments, of: str, name: str, takes: str, schema: Schema) -> None:
        """Add an argument that takes a value."""
        argument = self.surface.argument(name)
        arguments.add(Param(Role.VALUE, of, argument, takes, required=True), schema)
