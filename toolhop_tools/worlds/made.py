"""Generated tools as values, with typed inputs and outputs that a search can follow."""

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
    """Function of a tool."""

    RECORD = "record"
    """Look up an entity's fields by its key."""
    IDENTIFY = "identify"
    """Look up an entity's key by its other identifier: code by name, or name by code."""
    MATCH = "match"
    """Find the one entity that several keys (links and categories) identify."""
    FIND = "find"
    """Find entities by their links, with conditions, sorted."""
    TOTAL = "total"
    """Compute the total, mean or count over entities found in the same way."""
    COMPARE = "compare"
    """Return the one of two entities with the greater or smaller value."""
    GAP = "gap"
    """Compute the difference between two entities."""
    CONVERT = "convert"
    """Convert a measure to another unit."""
    DAYS = "days"
    """Count the days between two dates."""
    SHIFT = "shift"
    """Add days to a date."""
    INITIALS = "initials"
    """Return the initials of a name."""
    DIGITS = "digits"
    """Return the number in a code."""
    LIST = "list"
    """List all entities of a type, in pages."""


STEPS = {Shape.RECORD, Shape.FIND}
"""Shapes of the tools that most hops use."""
OFTENER = 3
"""Weight of `STEPS` when unused tools are offered, so that a tool's shape does not reveal that a
hop uses it."""
LEAST_KEYS = 2
"""Minimum number of keys of a `Shape.MATCH`."""


class Role(StrEnum):
    """Meaning of a parameter."""

    KEY = "key"
    """An entity; `Param.of` is ``first`` or ``second`` if a tool takes two."""
    LINK = "link"
    """Entity to which the results are linked; `Param.of` is an `expression.Link.id`."""
    ABOVE = "above"
    BELOW = "below"
    IS = "is"
    """Condition on the attribute `Param.of`, as in `expression.Test`."""
    SORT = "sort"
    """Sort by the attribute `Param.of`; the choices are ascending and descending."""
    FIELD = "field"
    """Select the field `Param.of`. Choices: total and mean for totals (count if `of` is empty),
    smaller and greater for comparisons, else a single one."""
    VALUE = "value"
    """A number in the unit `Param.of`; or one of two values (``first``, ``second``), such as two
    dates; or a name or code of the type `Param.of`."""
    UNIT = "unit"
    """The unit `Param.of` to convert to; a single choice."""
    PAGE = "page"
    """Page number, from 1."""


@dataclass(frozen=True, slots=True)
class Param:
    """One meaning that a call's arguments can express.

    A generic argument (``field``, ``where``) has a `Param` for each field that it can name.
    """

    role: Role
    of: str
    argument: str
    """Name of the argument in the tool's schema."""
    takes: str = ""
    """Type of the value, as from `expression.type_of`, or ``ship code``; empty if there are
    choices, or for a page."""
    choices: tuple[JSON, ...] = ()
    required: bool = False
    """Whether each call must have it, or another parameter with the same `role` and argument."""
    along: tuple[tuple[str, JSON], ...] = ()
    """Arguments set together with it, such as ``("sort_by", "length_m")``."""
    condition: tuple[tuple[str, JSON], ...] = ()
    """Other keys of the condition that it adds, if the argument is a list of conditions."""

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
    """As from `expression.type_of`; ``ship code`` for a code."""
    value: JSON
    picked: bool
    """Whether it comes from a list of several rows; False for the first row of a sorted list."""


@dataclass(frozen=True, slots=True)
class Column:
    """A field of a type as displayed in a style."""

    of: str
    """The attribute's name in the domain, ``name``, ``code``, or an `expression.Link.id`."""
    name: str
    """Name in arguments and results."""
    type: str
    """Type of the values, as in `Typed.type`."""
    noun: str
    many: bool = False
    """Whether each value is a list."""


@dataclass(frozen=True, eq=False)
class MadeTool:
    """A tool rendered from a world."""

    shape: Shape
    type: str
    """Type of the entities in its table; empty for tools of numbers and dates."""
    name: str
    description: str
    properties: Mapping[str, JSON]
    """JSON Schema of each argument."""
    required: tuple[str, ...]
    params: tuple[Param, ...]
    columns: tuple[Column, ...]
    """Columns of its table, the key first."""
    surface: Surface
    world: World
    render: Callable[[MadeTool], str]
    """Function that writes the source."""
    reads: Mapping[str, Path]
    """Path in the result to the value of a column (in a list: in its first row), or to the
    result itself (empty name)."""

    @cached_property
    def source(self) -> str:
        """Python source, rendered on first access."""
        return self.render(self)

    @cached_property
    def tool(self) -> Tool:
        """The tool in the form that items contain."""
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
        """Type of each column by name."""
        return {column.name: column.type for column in self.columns}

    @cached_property
    def _function(self) -> Callable[..., JSON]:
        namespace: dict[str, Callable[..., JSON]] = {}
        # Safe: the source is rendered from a world and contains no foreign text.
        exec(compile(self.source, self.name, "exec"), namespace)  # noqa: S102
        return namespace[self.name]

    def call(self, arguments: Mapping[str, JSON]) -> JSON:
        """Return what the rendered source returns, run in this process.

        Raises:
            LookupError: the tool has no such entity.
            ValueError: the tool rejects the arguments. Some styles return their errors instead.
        """
        return self._function(**arguments)

    def param(self, role: Role, of: str = "") -> Param | None:
        """Return the parameter with this meaning; None if there is none."""
        return self._params.get((role, of))

    @cached_property
    def _params(self) -> dict[tuple[Role, str], Param]:
        return {(param.role, param.of): param for param in self.params}

    def meant(self, arguments: Mapping[str, JSON]) -> Iterator[tuple[Param, JSON]]:
        """Yield the meanings of a call's arguments: parameters with their values."""
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
        """Return the leaves of a call's result; empty for an error."""
        return self.surface.typed(self, result, arguments)


@dataclass(frozen=True)
class Toolbox:
    """All tools of a world in one style."""

    world: World
    surface: Surface
    tools: Mapping[str, MadeTool]
    """Tools by name in a fixed order; shuffle them before display."""
    twins: Mapping[str, MadeTool] = field(default_factory=dict)
    """Twins by the name of their tool: the same tool over another register, with other values."""

    @cached_property
    def all(self) -> dict[str, MadeTool]:
        """Tools and twins by name."""
        return {tool.name: tool for tool in (*self.tools.values(), *self.twins.values())}

    def others(self, own: Sequence[MadeTool], drawn: random.Random) -> list[MadeTool]:
        """Return the tools that a chain does not use, in the order in which they are offered:
        its twins, then the rest at random, with a preference for `STEPS`. Every tool is
        accompanied by its twin; otherwise a twin would reveal that its tool is part of the
        chain.
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
        """Return the tools of a shape for a type."""
        return self._by_shape.get((shape, kind), [])

    @cached_property
    def _by_shape(self) -> dict[tuple[Shape, str], list[MadeTool]]:
        shapes: dict[tuple[Shape, str], list[MadeTool]] = {}
        for tool in self.tools.values():
            shapes.setdefault((tool.shape, tool.type), []).append(tool)
        return shapes


def by_name(tools: Iterable[MadeTool]) -> dict[str, MadeTool]:
    """Return the tools by name.

    Raises:
        ValueError: two tools share a name.
    """
    named: dict[str, MadeTool] = {}
    for tool in tools:
        if tool.name in named:
            raise ValueError(f"two tools are named {tool.name}: the domain's nouns have to differ")
        named[tool.name] = tool
    return named
