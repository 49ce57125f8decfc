"""Made tools as values: what they take and give, in types that a search can follow."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Tool, ToolSchema
from toolhop_tools.reading import Path

if TYPE_CHECKING:
    from toolhop_tools.worlds.surface import Surface
    from toolhop_tools.worlds.world import World


class Shape(StrEnum):
    """What a tool does."""

    RECORD = "record"
    """An entity's fields, by its key."""
    IDENTIFY = "identify"
    """An entity's key, by its other identifier: code by name, or name by code."""
    MATCH = "match"
    """The one entity that several keys name together: links and categories."""
    FIND = "find"
    """Entities by what they are linked to, with conditions, sorted."""
    TOTAL = "total"
    """Total, mean or count over entities found so."""
    COMPARE = "compare"
    """Of two entities the one with the greater or smaller value."""
    GAP = "gap"
    """By how much two entities differ."""
    CONVERT = "convert"
    """A measure in another unit."""
    DAYS = "days"
    """Days between two dates."""
    SHIFT = "shift"
    """The date a number of days after another."""
    INITIALS = "initials"
    """The initials of a name."""
    DIGITS = "digits"
    """The number in a code."""
    LIST = "list"
    """All entities of a type, paged."""


STEPS = {Shape.RECORD, Shape.FIND}
"""Shapes that most hops have."""
OFTENER = 3
"""So many times as soon as another a tool of these comes on offer that no hop uses: else its shape
would tell that one does."""
LEAST_KEYS = 2
"""That a `Shape.MATCH` takes."""


class Role(StrEnum):
    """What a parameter means."""

    KEY = "key"
    """The entity; `Param.of` is ``first`` or ``second`` where a tool takes two."""
    LINK = "link"
    """The entity that those found are linked to; `Param.of` is an `expression.Link.id`."""
    ABOVE = "above"
    BELOW = "below"
    IS = "is"
    """A condition on the attribute `Param.of`, as of `expression.Test`."""
    SORT = "sort"
    """By the attribute `Param.of`; the choices are ascending and descending."""
    FIELD = "field"
    """The field `Param.of` is meant. Choices: of totals the total and the mean (with an empty `of`
    the count), of comparisons the smaller and the greater, else one."""
    VALUE = "value"
    """A number in the unit `Param.of`; one of two values: dates, or a date and then days
    (``first``, ``second``); or a name or code of the type `Param.of`."""
    UNIT = "unit"
    """The unit `Param.of` to convert into; one choice."""
    PAGE = "page"
    """Which page, from 1."""


@dataclass(frozen=True, slots=True)
class Param:
    """One meaning that can be put into a call's arguments.

    A generic argument (``field``, ``where``) has a `Param` for each field that it can name.
    """

    role: Role
    of: str
    argument: str
    """Name of the argument in the tool's schema."""
    takes: str = ""
    """Type of the value, as of `expression.type_of`, or ``ship code``; empty where there are
    choices or a page."""
    choices: tuple[JSON, ...] = ()
    required: bool = False
    """Whether each call has to have it; of several with one `role` and argument, one of them."""
    along: tuple[tuple[str, JSON], ...] = ()
    """Arguments that go with it, as ``("sort_by", "length_m")``."""
    condition: tuple[tuple[str, JSON], ...] = ()
    """Where the argument is a list of conditions: the rest of the condition that it adds."""

    def put(self, arguments: dict[str, JSON], value: JSON) -> None:
        """Add the value to a call's arguments."""
        if self.condition:
            conditions = arguments.setdefault(self.argument, [])
            if isinstance(conditions, list):
                conditions.append({**dict(self.condition), "value": value})
        else:
            arguments[self.argument] = value
            arguments.update(self.along)


@dataclass(frozen=True, slots=True)
class Typed:
    """A leaf of a result."""

    type: str
    """As of `expression.type_of`; of a code ``ship code``."""
    value: JSON
    picked: bool
    """Whether it is one of several, and not the first of a sorted list."""


@dataclass(frozen=True, slots=True)
class Column:
    """A field of a type as a style shows it."""

    of: str
    """Name of the attribute in the domain; ``name``, ``code``; or an `expression.Link.id`."""
    name: str
    """In arguments and results."""
    type: str
    """Of its values, as `Typed.type`."""
    noun: str
    many: bool = False
    """Each value is a list."""


@dataclass(frozen=True, eq=False)
class MadeTool:
    """A tool rendered from a world."""

    shape: Shape
    type: str
    """Of the entities that it knows; empty for those of numbers and dates."""
    name: str
    description: str
    properties: Mapping[str, JSON]
    """JSON Schema of each argument."""
    required: tuple[str, ...]
    params: tuple[Param, ...]
    columns: tuple[Column, ...]
    """Of its table, the key first."""
    surface: Surface
    world: World
    render: Callable[[MadeTool], str]
    """Writes the source."""
    reads: Mapping[str, Path]
    """Where in the result the value of a column stands (of a list, in its first row), or the
    result itself (an empty name)."""

    @cached_property
    def source(self) -> str:
        """The Python source, rendered when first asked for."""
        return self.render(self)

    @cached_property
    def tool(self) -> Tool:
        """As items have it."""
        parameters: dict[str, JSON] = {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }
        schema = ToolSchema(self.name, self.description, parameters)
        return Tool(schema, Program(self.source, self.name))

    @cached_property
    def types(self) -> dict[str, str]:
        """Type of each column, by its name."""
        return {column.name: column.type for column in self.columns}

    @cached_property
    def _function(self) -> Callable[..., JSON]:
        namespace: dict[str, Callable[..., JSON]] = {}
        # The source is our own, rendered above from a world; no text of anybody else is in it.
        exec(compile(self.source, self.name, "exec"), namespace)  # noqa: S102
        return namespace[self.name]

    def call(self, arguments: Mapping[str, JSON]) -> JSON:
        """What the rendered source returns, run in this process.

        Raises:
            LookupError: the tool knows no such entity.
            ValueError: it refuses the arguments. Some styles return their errors instead.
        """
        return self._function(**arguments)

    def param(self, role: Role, of: str = "") -> Param | None:
        """The parameter with that meaning, if it has one."""
        return self._params.get((role, of))

    @cached_property
    def _params(self) -> dict[tuple[Role, str], Param]:
        return {(param.role, param.of): param for param in self.params}

    def meant(self, arguments: Mapping[str, JSON]) -> Iterator[tuple[Param, JSON]]:
        """What a call's arguments mean: parameters with their values."""
        for param in self.params:
            given = arguments.get(param.argument)
            if param.condition and isinstance(given, list):
                fixed = dict(param.condition)
                tests = [test for test in given if isinstance(test, dict)]
                yield from (
                    (param, test["value"]) for test in tests if fixed.items() <= test.items()
                )
                continue
            chosen = given is not None and (not param.choices or given in param.choices)
            if chosen and all(arguments.get(name) == own for name, own in param.along):
                yield param, given

    def typed(self, result: JSON, arguments: Mapping[str, JSON]) -> list[Typed]:
        """The leaves of a result of a call with these arguments; none of an error."""
        return self.surface.typed(self, result, arguments)


@dataclass(frozen=True)
class Toolbox:
    """All tools of a world in one style."""

    world: World
    surface: Surface
    tools: Mapping[str, MadeTool]
    """By name, in a fixed order: shuffle them before they are shown."""
    twins: Mapping[str, MadeTool] = field(default_factory=dict)
    """By the name of a tool: the same over another register, with other values."""

    @cached_property
    def all(self) -> dict[str, MadeTool]:
        """Tools and twins by name."""
        return {tool.name: tool for tool in (*self.tools.values(), *self.twins.values())}

    def others(self, own: Sequence[MadeTool], drawn: random.Random) -> list[MadeTool]:
        """The tools that a chain does not use, in the order in which they come on offer: its twins,
        then the rest at random, `STEPS` mostly first. A twin goes with its tool, or who has one
        would be of the chain.
        """
        rest = [tool for tool in self.tools.values() if tool not in own]
        drawn.shuffle(rest)
        rest.sort(key=lambda tool: drawn.random() ** (OFTENER if tool.shape in STEPS else 1))
        if not self.twins:
            return rest
        groups = [[self.twins[tool.name]] for tool in own if tool.name in self.twins]
        drawn.shuffle(groups)
        for tool in rest:
            pair = [tool, self.twins[tool.name]] if tool.name in self.twins else [tool]
            groups.append(drawn.sample(pair, len(pair)))
        return [tool for group in groups for tool in group]

    def of(self, shape: Shape, kind: str = "") -> list[MadeTool]:
        """Those of a shape over a type."""
        return self._by_shape.get((shape, kind), [])

    @cached_property
    def _by_shape(self) -> dict[tuple[Shape, str], list[MadeTool]]:
        shapes: dict[tuple[Shape, str], list[MadeTool]] = {}
        for tool in self.tools.values():
            shapes.setdefault((tool.shape, tool.type), []).append(tool)
        return shapes


def by_name(tools: Iterable[MadeTool]) -> dict[str, MadeTool]:
    """Tools by their names.

    Raises:
        ValueError: two have one name.
    """
    named: dict[str, MadeTool] = {}
    for tool in tools:
        if tool.name in named:
            raise ValueError(f"two tools are named {tool.name}: the domain's nouns have to differ")
        named[tool.name] = tool
    return named
