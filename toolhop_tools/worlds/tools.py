"""All tools of a world in one style: what each takes, gives and says of itself."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolhop_sandbox.outcome import JSON
from toolhop_tools.reading import Path
from toolhop_tools.worlds.domain import EntityType, Kind
from toolhop_tools.worlds.knobs import Knobs, Near, Style
from toolhop_tools.worlds.made import Column, MadeTool, Param, Role, Shape, Toolbox, by_name
from toolhop_tools.worlds.render import LISTED, render
from toolhop_tools.worlds.surface import CODE, NAME, REGISTERS, Order, Surface, slug
from toolhop_tools.worlds.units import others
from toolhop_tools.worlds.world import World, filled

NARROW = frozenset({Style.VALUES, Style.SERVICE})
"""Styles with a tool for each link; the others have one for each type."""
MOST_MEASURE = 10**12
"""Greatest number that is converted."""
MOST_DAYS = 100_000
"""Most days that a date is moved by."""
SAME_EVERYWHERE = {Shape.IDENTIFY, Shape.LIST, Shape.CONVERT, Shape.DAYS, Shape.SHIFT}
"""Shapes without twins: names and codes are the same in every register."""
_WRAPPED = {
    Style.SERVICE: "Replies with `ok` and `data`; an error has `ok` false, and an `error` with its "
    "`code` and `message`.",
    Style.TABLES: "The result has `columns` and `rows`.",
}
"""What all documents of a style say of results."""
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
        yield self.shift()

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

    # -- one entity -------------------------------------------------------------------------

    def key(self, kind: str, argument: str, of: str, arguments: _Arguments) -> None:
        """An argument that takes an entity by its key."""
        form, noun = self.surface.form(kind), self.world.domain.types[kind].noun
        arguments.add(
            Param(Role.KEY, of, argument, self.surface.key_type(kind), required=True),
            {
                "type": "string",
                "description": f"The {f'{of} {noun}'.lstrip()}'s {form}{self.example(kind)}.",
            },
        )

    def example(self, kind: str) -> str:
        """How a type's codes look, where it goes by code."""
        code = self.world.domain.types[kind].code
        return f", in the form {code} (each # a digit)" if kind in self.surface.keyed else ""

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
        said = "; ".join(self.meaning(column, columns) for column in columns[1:])
        gives = "One field of" if bare else "The record of"
        description = f"{gives} {_a(of.noun)}. Fields: {said}. {self.missing(surface.form(kind))}"
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

    def meaning(self, column: Column, related: Sequence[Column] = ()) -> str:
        """A field with what it holds; `related` are relations of the same type."""
        kind, _, unit = column.type.partition(" ")
        if column.of in {NAME, CODE}:
            return f"`{column.name}`"
        said = {"date": "YYYY-MM-DD", "number": f"in {unit}" if unit else ""}.get(kind, "")
        if end := self.world.domain.types.get(kind):
            form = unit or NAME
            said = f"by {form}" if column.noun == end.noun else _a(f"{end.noun}'s {form}")
        if end and column.many:
            # Nobody is related to an entity twice.
            ones = [one.noun for one in related if one.type == column.type and not one.many]
            apart = f", the {' and the '.join(ones)} not among them" if ones else ""
            said = f"a list of {end.noun} {form}s{apart}"
        return f"`{column.name}`, the {column.noun}" + (f" ({said})" if said else "")

    def missing(self, form: str) -> str:
        """What happens where no entity has the key."""
        gives = "gives no rows" if self.surface.style is Style.TABLES else "is an error"
        return f"An unknown {form} {gives}."

    def identify(self, kind: str, of: EntityType) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
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

    def window(self, arguments: _Arguments, *, limit: bool) -> None:
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

    def needed(self, arguments: _Arguments) -> str:
        """Which of the optional links has to be given, where none is required."""
        links = [param for param in arguments.params if param.role is Role.LINK]
        if any(param.required for param in links):
            return ""  # The schema says it.
        names = [f"`{param.argument}`" for param in links]
        several = "At least one of " if names[1:] else ""
        return f"{several}{', '.join(names)} has to be given. "

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
        when = [] if paged else ["if nothing matches"]
        if surface.page or paged:
            when.append("beyond the last page")
        return f"{gives} {empty} {' and '.join(when)}."

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
                    "description": f"Only {of.plural} {self.linked(column, 'this', end)}: the "
                    f"{noun}'s {form}{self.example(end)}.",
                },
            )
        attributes = self.surface.attributes(kind)
        if self.surface.style is Style.VALUES:
            self.generic(of, attributes, arguments)
        else:
            self.bounds(of, attributes, arguments)

    def linked(self, column: Column, which: str, end: str) -> str:
        """A link to "this" or "a given" entity of a type, in words."""
        noun = self.world.domain.types[end].noun
        if "." in column.of:
            return f"among the {column.noun} of {which} {noun}"
        if column.many:
            return f"with {which} {noun} among their {column.noun}"
        return f"with {which} {column.noun}"

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
            "If nothing matches, a count or total is 0 and a mean is null."
            if numbers
            else f". {self.needed(arguments)}If nothing matches, the count is 0."
        )
        names_ = ["value", "unit"] if numbers else ["value"]
        reads = {"": surface.cell_path("value", names_)}
        return self.made(Shape.TOTAL, kind, description, arguments, columns, reads)

    def lister(self, kind: str, of: EntityType) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
        arguments.add(Param(Role.PAGE, "", "page"), _page(surface.page or LISTED))
        columns = surface.keys(kind)
        description = f"All {of.plural}, page by page. {self.listed(kind, False, paged=True)}"
        return self.made(Shape.LIST, kind, description, arguments, columns, self.row_paths(kind))

    # -- two entities, numbers and dates ----------------------------------------------------

    def compare(self, kind: str, of: EntityType) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
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
            f"The difference between two {of.plural} in one field, never negative; dates differ "
            f"in days, years in years, other fields in their own unit. Fields: {said}. "
            f"An unknown {surface.form(kind)} is an error."
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
            "Convert a measurement to another unit, rounded to one decimal. Units of different "
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
                {**DATE, "description": "A date, as YYYY-MM-DD."},
            )
        description = (
            "The number of days between two dates, never negative. A date that does not exist is "
            "an error."
        )
        reads = {"": surface.cell_path("days", ["days"])}
        return self.made(Shape.DAYS, "", description, arguments, [], reads)

    def shift(self) -> MadeTool:
        surface, arguments = self.surface, _Arguments()
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


def slug_camel(name: str) -> str:
    """The words of a name, be it in camel case."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).replace(
        "_", " "
    )


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
