"""The calls that reach an expression's value with a world's tools."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.reading import Path
from toolhop_tools.worlds.expression import (
    Condition,
    Entity,
    Expression,
    Follow,
    Gap,
    Link,
    Named,
    Pick,
    Read,
    Spelled,
    Sum,
    Test,
    Text,
    Total,
    Which,
)
from toolhop_tools.worlds.made import LEAST_KEYS, MadeTool, Role, Shape, Toolbox
from toolhop_tools.worlds.surface import CODE, NAME


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier call of the plan returned, at its own path."""

    call: int
    """Its index."""


Given: TypeAlias = JSON | Earlier | list["Given"] | dict[str, "Given"]
"""An argument: JSON of the question's own, with `Earlier` in it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a plan."""

    tool: MadeTool
    arguments: Mapping[str, Given]
    path: Path
    """Where in its result the value stands."""
    node: Expression
    """What it answers, or helps to: a node may need a second call, to convert."""
    read: str
    """Of `MadeTool.reads`: the column that the value is of, or empty."""


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made."""

    arguments: Mapping[str, JSON]
    result: JSON
    value: JSON
    """At the call's path."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Calls in order; the last one's value is the answer."""

    calls: tuple[Call, ...]

    def run(self) -> list[Made]:
        """Make the calls.

        Raises:
            LookupError: a tool knows no such entity, or nothing stands at a path.
            ValueError: a tool refuses.
        """
        made: list[Made] = []
        for call in self.calls:
            arguments = {name: filled(value, made) for name, value in call.arguments.items()}
            result = call.tool.call(arguments)
            made.append(Made(arguments, result, at(result, call.path)))
        return made


def filled(value: Given, made: Sequence[Made]) -> JSON:
    """An argument with the values of earlier calls in it."""
    match value:
        case Earlier(call):
            return made[call].value
        case list():
            return [filled(part, made) for part in value]
        case dict():
            return {name: filled(part, made) for name, part in value.items()}
        case _:
            return value


def at(result: JSON, path: Path) -> JSON:
    """What stands at a path.

    Raises:
        LookupError: nothing does.
    """
    for step in path:
        try:
            result = result[step]  # type: ignore[index]
        except TypeError as error:
            raise LookupError(f"nothing stands at {step!r} of {result!r}") from error
    return result


class NoTool(Exception):
    """The toolbox has no tool for a node."""


def plan(asked: Expression, box: Toolbox, offered: Container[str] | None = None) -> Plan | None:
    """The calls that answer an expression; None where the tools cannot, or those `offered`."""
    planning = _Planning(box, offered)
    try:
        planning.answer(asked)
    except NoTool:
        return None
    return Plan(tuple(planning.calls))


@dataclass
class _Planning:
    box: Toolbox
    offered: Container[str] | None
    calls: list[Call] = field(default_factory=list)

    def answer(self, asked: Expression) -> None:
        """Plan the calls for a whole expression."""
        match asked:
            case Read():
                self.read(asked)
            case Gap():
                ends = [self.key(asked.first), self.key(asked.second)]
                self.pair(Shape.GAP, asked, asked.attribute, ends, 0)
            case Total():
                self.total(asked)
            case Spelled():
                self.spelled(asked)
            case _:
                self.entity(asked, NAME)

    def call(
        self,
        tool: MadeTool,
        node: Expression,
        arguments: Mapping[str, Given],
        read: str,
        beyond: Path = (),
    ) -> Earlier:
        self.calls.append(Call(tool, arguments, (*tool.reads[read], *beyond), node, read))
        return Earlier(len(self.calls) - 1)

    # -- entities ---------------------------------------------------------------------------

    def key(self, of: Entity) -> Given:
        """An entity as the tools of its type take it."""
        return self.entity(
            of, self.box.surface.form(of.type if not isinstance(of, Follow) else self.end(of))
        )

    def end(self, of: Follow) -> str:
        """The type that a relation leads to."""
        return self.box.world.domain.relation(of.type, of.relation).to

    def entity(self, asked: Entity, form: str) -> Given:
        """An entity by its name or its code."""
        match asked:
            case Named(kind, name, by_code):
                if not by_code:
                    return self.formed(name, NAME, form, kind, asked)
                code = self.box.world.tables[kind][name][CODE]
                return self.formed(str(code), CODE, form, kind, asked)
            case Follow(kind, relation, of):
                value = self.field(kind, self.key(of), relation, asked)
                end = self.end(asked)
                return self.formed(value, self.box.surface.form(end), form, end, asked)
            case Pick():
                return self.pick(asked, form)
            case Which(kind, attribute, most, first, second):
                ends = [self.key(first), self.key(second)]
                key = self.box.surface.form(kind)
                value = self.pair(Shape.COMPARE, asked, attribute, ends, int(most))
                return self.formed(value, key, form, kind, asked)

    def formed(self, value: Given, own: str, form: str, kind: str, node: Expression) -> Given:
        """A name or code as the other one, by a call where they differ."""
        if own == form:
            return value
        if own == self.box.surface.form(kind):
            return self.field(kind, value, form, node)
        tool = self.tool(Shape.IDENTIFY, kind)
        return self.call(tool, node, _arguments(tool, [(Role.KEY, "", value)]), form)

    def field(self, kind: str, key: Given, column: str, node: Expression) -> Given:
        """A field of an entity's record."""
        tool = self.tool(Shape.RECORD, kind)
        meanings: list[tuple[Role, str, Given]] = [(Role.KEY, "", key)]
        if param := tool.param(Role.FIELD, column):
            meanings.append((Role.FIELD, column, param.choices[0]))
        return self.call(tool, node, _arguments(tool, meanings), column)

    def pick(self, asked: Pick, form: str) -> Given:
        meanings = self.filters(asked.links, asked.conditions)
        if asked.rank:
            way = self.box.surface.order.ways[asked.rank.most]
            meanings.append((Role.SORT, asked.rank.attribute, way))
        is_keyed = not asked.rank and all(c.test is Test.IS for c in asked.conditions)
        by_keys = [Shape.MATCH] if is_keyed and len(meanings) >= LEAST_KEYS else []
        tool, arguments = self.first([*by_keys, Shape.FIND], asked.type, meanings)
        own = form if form in tool.reads else self.box.surface.form(asked.type)
        pair = (0,) if asked.rank and self.box.surface.pairs else ()
        value = self.call(tool, asked, arguments, own, pair)
        return self.formed(value, own, form, asked.type, asked)

    def filters(
        self, links: Sequence[Link], conditions: Sequence[Condition]
    ) -> list[tuple[Role, str, Given]]:
        """Links and conditions as what parameters mean."""
        roles = {Test.ABOVE: Role.ABOVE, Test.BELOW: Role.BELOW, Test.IS: Role.IS}
        meanings: list[tuple[Role, str, Given]] = [
            (Role.LINK, link.id, self.key(link.end)) for link in links
        ]
        return meanings + [(roles[test.test], test.attribute, test.value) for test in conditions]

    # -- values -----------------------------------------------------------------------------

    def read(self, asked: Read) -> None:
        of = self.box.world.domain.attribute(asked.type, asked.attribute)
        value = self.field(asked.type, self.key(asked.of), asked.attribute, asked)
        if asked.unit and asked.unit != of.unit:
            meanings: list[tuple[Role, str, Given]] = [
                (Role.VALUE, of.unit, value),
                (Role.UNIT, asked.unit, asked.unit),
            ]
            tool, arguments = self.first([Shape.CONVERT], "", meanings)
            self.call(tool, asked, arguments, "")
        if asked.later:
            meanings = [(Role.VALUE, "first", value), (Role.VALUE, "second", asked.later)]
            tool = self.tool(Shape.SHIFT, "")
            self.call(tool, asked, _arguments(tool, meanings), "")

    def spelled(self, asked: Spelled) -> None:
        shape, form = {
            Text.INITIALS: (Shape.INITIALS, NAME), Text.DIGITS: (Shape.DIGITS, CODE)
        }[asked.how]  # fmt: skip
        tool = self.tool(shape, "")
        value = self.entity(asked.of, form)
        self.call(tool, asked, _arguments(tool, [(Role.VALUE, asked.type, value)]), "")

    def pair(
        self, shape: Shape, asked: Gap | Which, attribute: str, ends: list[Given], choice: int
    ) -> Given:
        """Compare two entities, or take their difference."""
        tool = self.tool(shape, asked.type)
        param = tool.param(Role.FIELD, attribute)
        if param is None:
            raise NoTool
        meanings: list[tuple[Role, str, Given]] = [
            (Role.KEY, "first", ends[0]),
            (Role.KEY, "second", ends[1]),
            (Role.FIELD, attribute, param.choices[choice]),
        ]
        read = self.box.surface.form(asked.type) if shape is Shape.COMPARE else ""
        return self.call(tool, asked, _arguments(tool, meanings), read)

    def total(self, asked: Total) -> None:
        meanings = self.filters(asked.links, asked.conditions)
        statistic = {Sum.COUNT: "count", Sum.TOTAL: "total", Sum.MEAN: "mean"}[asked.how]
        meanings.append((Role.FIELD, asked.attribute, statistic))
        tool, arguments = self.first([Shape.TOTAL], asked.type, meanings)
        self.call(tool, asked, arguments, "")

    # -- tools ------------------------------------------------------------------------------

    def tool(self, shape: Shape, kind: str) -> MadeTool:
        """The one tool of a shape over a type."""
        for tool in self.tools([shape], kind):
            return tool
        raise NoTool

    def tools(self, shapes: Sequence[Shape], kind: str) -> Iterator[MadeTool]:
        """Those of these shapes over a type that may be called."""
        for shape in shapes:
            for tool in self.box.of(shape, kind):
                if self.offered is None or tool.name in self.offered:
                    yield tool

    def first(
        self, shapes: Sequence[Shape], kind: str, meanings: list[tuple[Role, str, Given]]
    ) -> tuple[MadeTool, dict[str, Given]]:
        """The first tool of these shapes that takes all of this, with its arguments."""
        for tool in self.tools(shapes, kind):
            try:
                arguments = _arguments(tool, meanings)
            except NoTool:
                continue
            if all(name in arguments for name in tool.required):
                return tool, arguments
        raise NoTool


def _arguments(tool: MadeTool, meanings: Sequence[tuple[Role, str, Given]]) -> dict[str, Given]:
    """A call's arguments.

    Raises:
        NoTool: the tool has no parameter for one of the meanings, or one argument for two of them.
    """
    arguments: dict[str, Given] = {}
    for role, of, value in meanings:
        param = tool.param(role, of)
        if param is None or (param.argument in arguments and not param.condition):
            raise NoTool
        if any(arguments.get(name, given) != given for name, given in param.along):
            raise NoTool
        param.put(arguments, value)  # type: ignore[arg-type]
    return arguments
