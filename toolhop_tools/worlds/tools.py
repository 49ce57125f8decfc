"""All tools of a world in one style: what each takes, gives and says of itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from toolhop_sandbox.outcome import JSON
from toolhop_tools.reading import Path
from toolhop_tools.worlds.domain import EntityType, Kind
from toolhop_tools.worlds.knobs import Knobs, Near, Style
from toolhop_tools.worlds.made import Column, MadeTool, Param, Role, Shape, Toolbox, by_name
from toolhop_tools.worlds.render import render
from toolhop_tools.worlds.surface import CODE, NAME, REGISTERS, Surface, slug
from toolhop_tools.worlds.units import others
from toolhop_tools.worlds.world import World, filled

NARROW = frozenset({Style.VALUES, Style.SERVICE})
"""Styles with a tool for each link; the others have one for each type."""
MOST_MEASURE = 10**12
"""Greatest number that is converted."""
SAME_EVERYWHERE = {Shape.IDENTIFY, Shape.LIST, Shape.CONVERT, Shape.DAYS}
"""Shapes without twins: names and codes are the same in every register."""
DATE: dict[str, JSON] = {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}


def toolbox(world: World, style: Style, knobs: Knobs, seed: str) -> Toolbox:
    """All tools of a world.

    Args:
        world: whose tables they hold.
        style: of all of them.
        knobs: `listing`, `page`, `codes` and `near` count here.
        seed: of what the style leaves open.

    Raises:
        ValueError: two tools would have one name.
    """
    drawn = random.Random(f"{seed} tools")
    coded = [kind for kind, of in world.domain.types.items() if of.code]
    if style is not Style.TABLES:
        most = (len(coded) + 1) // 2 if knobs.codes else 0
        coded = drawn.sample(coded, most)
    surface = Surface(
        style, world.domain, frozenset(coded), variant=drawn.randrange(100), page=knobs.page
    )
    if knobs.near is Near.WORLD:
        return Toolbox(world, surface, by_name(_Maker(world, surface, knobs.listing).all()))
    present, other = drawn.choice(REGISTERS)
    surface, twin = (replace(surface, register=register) for register in (present, other))
    tools = [*_Maker(world, surface, knobs.listing).all()]
    twins = [*_Maker(filled(world, f"{seed}/{other.word}"), twin, knobs.listing).all()]
    pairs = {
        tool.name: twin
        for tool, twin in zip(tools, twins, strict=True)
        if tool.shape not in SAME_EVERYWHERE
    }
    by_name([*tools, *pairs.values()])
    return Toolbox(world, surface, by_name(tools), pairs)


@dataclass(frozen=True)
class _Maker:
    """Makes the tools, type by type."""

    world: World
    surface: Surface
    listing: bool

    def all(self) -> Iterator[MadeTool]:
        for kind, of in self.world.domain.types.items():
            yield self.record(kind, of)
            if of.code:
                yield self.identify(kind, of)
            yield from self.find(kind, of)
            if self.surface.links(kind):
                yield self.total(kind, of)
            if self.surface.attributes(kind, Kind.NUMBER, Kind.YEAR, Kind.DATE):
                yield self.compare(kind, of)
                yield self.gap(kind, of)
            if self.listing:
                yield self.lister(kind, of)
        if units := self.units():
            yield self.convert(units)
        yield self.days()

    def units(self) -> list[str]:
        """Units of the domain that convert, and what they convert into."""
        own = [
            of.unit for kind in self.world.domain.types.values() for of in kind.attributes.values()
        ]
        return list(
            dict.fromkeys(unit for name in own if others(name) for unit in (name, *others(name)))
        )

    def made(
        self,
        shape: Shape,
        kind: str,
        description: str,
        arguments: _Arguments,
        columns: list[Column],
        reads: dict[str, Path],
        **parts: str,
    ) -> MadeTool:
        required = tuple(arguments.required)
        properties = {name: arguments.properties[name] for name in required} | arguments.properties
        return MadeTool(
            shape,
            kind,
            self.surface.function(shape, kind, **parts),
            f"{description} {self.surface.register.about if kind else ''}".rstrip(),
            properties,
            required,
            tuple(arguments.params),
            tuple(columns),
            self.surface,
            self.world,
            render,
            reads,
        )

    # -- one entity -------------------------------------------------------------------------

    def key(self, kind: str, argument: str, of: str, arguments: _Arguments) -> None:
        """An argument that takes an entity by its key."""
        form, noun = self.surface.form(kind), self.world.domain.types[kind].noun
        which = {"first": "One of the two", "second": "The other one"}.get(of, "The")
        said = f"{which}: the {noun}'s {form}" if of else f"The {noun}'s {form}"
        arguments.add(
            Param(Role.KEY, of, argument, self.surface.key_type(kind), required=True),
            {"type": "string", "description": f"{said}{self.example(kind)}."},
        )

    def example(self, kind: str) -> str:
        """How a type's codes look, where it goes by code."""
        code = self.world.domain.types[kind].code
        return f", as {code} with digits for #" if kind in self.surface.keyed else ""

    def record(self, kind: str, of: EntityType) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
        keys = surface.keys(kind)
        columns = [*keys, *surface.attributes(kind), *surface.relations(kind)]
        bare = surface.style is Style.VALUES
        argument = surface.argument(kind) if bare else keys[0].name
        self.key(kind, argument, "", arguments)
        names = [column.name for column in columns]
        if bare:
            self.field(columns[1:], arguments)
        said = "; ".join(self.meaning(column) for column in columns[1:])
        gives = "One field of" if bare else "The record of"
        missing = self.missing(of, surface.form(kind))
        description = f"{gives} {_a(of.noun)}. Fields: {said}. {missing}"
        reads = {column.of: surface.cell_path(column.name, names) for column in columns}
        return self.made(Shape.RECORD, kind, description, arguments, columns, reads)

    def field(self, columns: list[Column], arguments: _Arguments, *, required: bool = True) -> None:
        """The argument `field`."""
        names: list[JSON] = [column.name for column in columns]
        for column in columns:
            arguments.add(
                Param(Role.FIELD, column.of, "field", choices=(column.name,), required=required),
                {"type": "string", "enum": names, "description": "Which field."},
            )

    def meaning(self, column: Column) -> str:
        """A field with what it holds."""
        kind, _, unit = column.type.partition(" ")
        if column.of in {NAME, CODE}:
            return f"`{column.name}`"
        if kind in set(Kind):
            said = {Kind.DATE: "YYYY-MM-DD", Kind.NUMBER: f"in {unit}" if unit else ""}.get(
                Kind(kind), ""
            )
        else:
            ends = "codes" if unit else "names"
            said = f"a list of {ends}" if column.many else ends[:-1]
        return f"`{column.name}`, the {column.noun}" + (f" ({said})" if said else "")

    def missing(self, of: EntityType, form: str) -> str:
        """What happens where no entity has the key."""
        match self.surface.style:
            case Style.SERVICE:
                return f"An unknown {form} gives ok = false and an error with a code and a message."
            case Style.TABLES:
                return f"An unknown {form} gives no rows."
            case _:
                return f"An unknown {form} is an error."

    def identify(self, kind: str, of: EntityType) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
        key, other = surface.keys(kind)
        arguments.add(
            Param(Role.KEY, "", other.name, other.type, required=True),
            {"type": "string", "description": f"The {of.noun}'s {other.name}."},
        )
        description = (
            f"The {key.name} of {_a(of.noun)} whose {other.name} is known. "
            f"{self.missing(of, other.name)}"
        )
        names = [key.name, other.name]
        reads = {key.of: surface.cell_path(key.name, names)}
        return self.made(
            Shape.IDENTIFY, kind, description, arguments, [key, other], reads, to=key.name
        )

    # -- several entities -------------------------------------------------------------------

    def find(self, kind: str, of: EntityType) -> Iterator[MadeTool]:
        links = self.surface.links(kind)
        if self.surface.style not in NARROW:
            if links:
                yield self.finding(kind, of, links, None)
            return
        for column, _ in links:
            yield self.finding(kind, of, links, column)

    def finding(
        self, kind: str, of: EntityType, links: list[tuple[Column, str]], narrow: Column | None
    ) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
        columns = [*surface.keys(kind), *surface.attributes(kind), *(link for link, _ in links)]
        self.filters(kind, of, links, narrow, arguments)
        order = surface.order
        sortable = surface.attributes(kind, Kind.NUMBER, Kind.YEAR, Kind.DATE)
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
                _way(order.ways),
            )
            arguments.properties[order.by] = {
                "type": "string",
                "enum": names,
                "description": "Sort by this field, and show it. Else the order has no meaning.",
            }
        self.window(arguments, limit=surface.style in {Style.RECORDS, Style.TABLES})
        by = "" if narrow is None else f" by {narrow.noun}"
        description = f"Find {of.plural}{by}. {self.listed(kind, bool(sortable))}"
        reads = self.row_paths(kind)
        named = slug(narrow.name) if narrow else ""
        if narrow and surface.style is Style.SERVICE:
            named = slug(
                narrow.noun
                if "." not in narrow.of
                else f"{narrow.noun} of {narrow.of.split('.')[0]}"
            )
        return self.made(Shape.FIND, kind, description, arguments, columns, reads, link=named)

    def window(self, arguments: _Arguments, *, limit: bool) -> None:
        """A page or a limit."""
        if self.surface.page:
            said = f"Which page, of {self.surface.page} rows each."
            schema: dict[str, JSON] = {
                "type": "integer",
                "minimum": 1,
                "default": 1,
                "description": said,
            }
            arguments.add(Param(Role.PAGE, "", "page"), schema)
        elif limit:
            arguments.properties["limit"] = {
                "type": "integer",
                "minimum": 1,
                "default": 50,
                "description": "How many rows at most.",
            }

    def listed(self, kind: str, sortable: bool) -> str:
        """What a list of entities looks like."""
        surface = self.surface
        key, with_field = surface.form(kind), "the field that it is sorted by"
        pages = " After the last page there are no more." if surface.page else ""
        match surface.style:
            case Style.VALUES:
                pair = f"; sorted, a list of pairs of {key} and value" if sortable else ""
                return f"Gives a list of {key}s{pair}. Nothing fits: an empty list.{pages}"
            case Style.TABLES:
                return (
                    "Gives `columns`, `rows` and `row_count`, the number of all matches. Columns "
                    "are "
                    f"the {' and '.join(self.shown(kind))}"
                    + (f" and {with_field}" if sortable else "")
                    + f". Nothing fits: no rows.{pages}"
                )
            case _:
                rows = surface.rows_name(kind)
                return (
                    f"Gives `total`, the number of all matches, and `{rows}`: each with its "
                    f"{' and '.join(self.shown(kind))}"
                    + (f" and {with_field}" if sortable else "")
                    + f". Nothing fits: a total of 0.{pages}"
                )

    def shown(self, kind: str) -> list[str]:
        """Columns of a list of entities, without the one that it is sorted by."""
        return [CODE, NAME] if kind in self.surface.keyed else [NAME]

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

    def filters(
        self,
        kind: str,
        of: EntityType,
        links: list[tuple[Column, str]],
        narrow: Column | None,
        arguments: _Arguments,
    ) -> None:
        """What entities are found by."""
        if self.surface.style is Style.TABLES:
            self.where(kind, links, arguments)
            return
        for column, end in sorted(links, key=lambda link: link[0] is not narrow):
            noun, form = self.world.domain.types[end].noun, self.surface.form(end)
            arguments.add(
                Param(
                    Role.LINK,
                    column.of,
                    f"{column.name}_include"
                    if column.many
                    and "." not in column.of
                    and self.surface.style is not Style.SERVICE
                    else f"{column.name}Include"
                    if column.many and "." not in column.of
                    else column.name,
                    column.type,
                    required=column is narrow,
                ),
                {
                    "type": "string",
                    "description": f"Only {of.plural} {self.linked(column, noun)}: the {noun}'s "
                    f"{form}{self.example(end)}.",
                },
            )
        attributes = self.surface.attributes(kind)
        if self.surface.style is Style.VALUES:
            self.generic(of, attributes, arguments)
        else:
            self.bounds(of, attributes, arguments)

    def linked(self, column: Column, noun: str) -> str:
        """A link in words."""
        if "." in column.of:
            return f"among the {column.noun} of this {noun}"
        if column.many:
            return f"with this {noun} among their {column.noun}"
        return f"whose {column.noun} is this {noun}"

    def bounds(self, of: EntityType, attributes: list[Column], arguments: _Arguments) -> None:
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
                        "description": f"Only {of.plural} with this {column.noun}.",
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
                measure = f", in {unit}" if unit else ""
                said = (
                    f"Only {of.plural} whose {column.noun} is {word} this{measure}; "
                    "not if it is equal."
                )
                arguments.add(
                    Param(
                        role,
                        column.of,
                        self.surface.argument(f"{slug_camel(column.name)} {word}"),
                        column.type,
                    ),
                    {**schema, "description": said},
                )

    def generic(self, of: EntityType, attributes: list[Column], arguments: _Arguments) -> None:
        """The arguments `filter_by`, `above`, `below` and `equal_to`."""
        if not attributes:
            return
        names: list[JSON] = [column.name for column in attributes]
        arguments.properties["filter_by"] = {
            "type": "string",
            "enum": names,
            "description": "The field that above, below or equal_to is about.",
        }
        bound: dict[str, JSON] = {"type": ["number", "string"]}
        for column in attributes:
            along = (("filter_by", column.name),)
            if column.type == Kind.CATEGORY:
                values: tuple[JSON, ...] = of.attributes[column.of].values
                arguments.add(
                    Param(Role.IS, column.of, "equal_to", choices=values, along=along),
                    {**bound, "description": "Only where the field is equal to this."},
                )
                continue
            for role, word, more in ((Role.ABOVE, "above", "more"), (Role.BELOW, "below", "less")):
                arguments.add(
                    Param(role, column.of, word, column.type, along=along),
                    {
                        **bound,
                        "description": f"Only where the field is {more} than this; a date as "
                        "YYYY-MM-DD.",
                    },
                )

    def where(self, kind: str, links: list[tuple[Column, str]], arguments: _Arguments) -> None:
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
        said = "; ".join(self.meaning(column) for column in columns)
        linked = ", ".join(link.name for link, _ in links)
        schema: dict[str, JSON] = {
            "type": "array",
            "items": test,
            "minItems": 1,
            "description": f"Conditions that all hold. Columns: {said}. Lists are asked with "
            f"contains. One condition at least names one of {linked} with = or contains.",
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

    def total(self, kind: str, of: EntityType) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
        links = surface.links(kind)
        columns = [*surface.keys(kind), *surface.attributes(kind), *(link for link, _ in links)]
        self.filters(kind, of, links, None, arguments)
        numbers = surface.attributes(kind, Kind.NUMBER)
        statistics: list[JSON] = ["count", "total", "mean"] if numbers else ["count"]
        schema: dict[str, JSON] = {
            "type": "string",
            "enum": statistics,
            "description": "What is computed; a mean is rounded to one decimal.",
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
                "description": f"Of what: {said}. A count needs none.",
            }
        description = f"Count {of.plural}, or sum up one of their fields. " + (
            "Nothing fits: a count and a total of 0, and a mean of null."
            if numbers
            else "Nothing fits: 0."
        )
        names_ = ["value", "unit"] if numbers else ["value"]
        reads = {"": surface.cell_path("value", names_)}
        return self.made(Shape.TOTAL, kind, description, arguments, columns, reads)

    def lister(self, kind: str, of: EntityType) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
        size = surface.page or 20
        arguments.add(
            Param(Role.PAGE, "", "page"),
            {
                "type": "integer",
                "minimum": 1,
                "default": 1,
                "description": f"Which page, of {size} rows each.",
            },
        )
        columns = surface.keys(kind)
        description = f"All {of.plural}, page by page. {self.listed(kind, sortable=False)}"
        return self.made(Shape.LIST, kind, description, arguments, columns, self.row_paths(kind))

    # -- two entities, numbers and dates ----------------------------------------------------

    def compare(self, kind: str, of: EntityType) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
        columns = self.two(kind, arguments)
        way: dict[str, JSON] = {
            "type": "string",
            "enum": ["smaller", "greater"],
            "default": "greater",
            "description": "Which of the two; of dates and years the earlier is the smaller.",
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
            f"Which of two {of.plural} has the greater or smaller value of a field. Gives its "
            f"{form}. Fields: {said}. Equal values are an error."
        )
        reads = {form: surface.cell_path(form, [form])}
        return self.made(
            Shape.COMPARE, kind, description, arguments, [surface.keys(kind)[0], *columns], reads
        )

    def two(self, kind: str, arguments: _Arguments) -> list[Column]:
        """Arguments of tools that take two entities and a field; the fields."""
        columns = self.surface.attributes(kind, Kind.NUMBER, Kind.YEAR, Kind.DATE)
        for argument in ("first", "second"):
            self.key(kind, argument, argument, arguments)
        self.field(columns, arguments)
        return columns

    def gap(self, kind: str, of: EntityType) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
        columns = self.two(kind, arguments)
        said = "; ".join(self.meaning(column) for column in columns)
        description = (
            f"By how much two {of.plural} differ in a field, never negative: dates in days, years "
            f"in years, else in the field's unit. Fields: {said}."
        )
        reads = {"": surface.cell_path("difference", ["difference", "unit"])}
        return self.made(
            Shape.GAP, kind, description, arguments, [surface.keys(kind)[0], *columns], reads
        )

    def convert(self, units: list[str]) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
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
                    "description": "The measure.",
                },
            )
        for argument, said in (
            (start, "Its unit."),
            (into, "The unit wanted, of the same quantity."),
        ):
            arguments.properties[argument] = {"type": "string", "enum": names, "description": said}
            arguments.required.append(argument)
        arguments.params += [
            Param(Role.UNIT, unit, into, choices=(unit,), required=True) for unit in units
        ]
        description = (
            "Convert a measure to another unit, rounded to one decimal. Units of different "
            "quantities are an error."
        )
        reads = {"": surface.cell_path("value", ["value", "unit"])}
        return self.made(Shape.CONVERT, "", description, arguments, [], reads)

    def days(self) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
        for of in ("first", "second"):
            arguments.add(
                Param(
                    Role.VALUE, of, surface.argument(f"{of} date"), str(Kind.DATE), required=True
                ),
                {**DATE, "description": "A day, as YYYY-MM-DD."},
            )
        description = (
            "Days between two dates, never negative. A date that the calendar has not is an error."
        )
        reads = {"": surface.cell_path("days", ["days"])}
        return self.made(Shape.DAYS, "", description, arguments, [], reads)


class _Arguments:
    """Arguments of a tool on its way."""

    def __init__(self) -> None:
        self.params: list[Param] = []
        self.properties: dict[str, JSON] = {}
        self.required: list[str] = []

    def add(self, param: Param, schema: dict[str, JSON]) -> None:
        """Take a meaning, and the schema of its argument."""
        self.params.append(param)
        self.properties.setdefault(param.argument, schema)
        if param.required and param.argument not in self.required:
            self.required.append(param.argument)


def _way(ways: tuple[JSON, JSON]) -> dict[str, JSON]:
    if isinstance(ways[0], bool):
        return {"type": "boolean", "default": ways[0], "description": "Greatest or latest first."}
    return {
        "type": "string",
        "enum": list(ways),
        "default": ways[0],
        "description": "Which way it is sorted.",
    }


def slug_camel(name: str) -> str:
    """The words of a name, be it in camel case."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).replace(
        "_", " "
    )


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
