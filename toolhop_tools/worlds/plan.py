"""Plan the calls that compute an expression's value with a world's tools."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from toolhop_sandbox.outcome import JSON
from toolhop_tools.reading import Path
from toolhop_tools.worlds.expression import (
    Entity,
    Expression,
    Follow,
    Gap,
    Named,
    Pick,
    Read,
    Spelled,
    Sum,
    Test,
    Text,
    Total,
    Which,
    type_of,
)
from toolhop_tools.worlds.knobs import Style
from toolhop_tools.worlds.made import LEAST_KEYS, MadeTool, Role, Shape, Toolbox
from toolhop_tools.worlds.world import CODE, NAME


@dataclass(frozen=True, slots=True)
class Earlier:
    """Value from an earlier call of the plan, at that call's path."""

    call: int
    """Index of the earlier call."""


Given: TypeAlias = JSON | Earlier | list["Given"] | dict[str, "Given"]
"""An argument: JSON from the question, possibly containing `Earlier` values."""
Meaning: TypeAlias = tuple[Role, str, Given]
"""Role and `of` of a parameter (`made.Param`), with its value; for roles in `BY_PLACE`, the
index among the parameter's choices."""
BY_PLACE = {Role.FIELD, Role.SORT}


@dataclass(frozen=True, slots=True)
class Call:
    """A planned call."""

    tool: MadeTool
    arguments: Mapping[str, Given]
    path: Path
    """Path to the value in the result."""
    node: Expression
    """Node that it answers, alone or with another call: a node may need a second one, to
    convert."""
    read: str
    """Column of the value, as in `MadeTool.reads`; may be empty."""


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made."""

    arguments: Mapping[str, JSON]
    result: JSON
    value: JSON
    """Value at the call's path."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Calls in order; the value of the last one is the answer."""

    calls: tuple[Call, ...]

    def run(self) -> list[Made]:
        """Make the calls.

        Raises:
            LookupError: a tool has no such entity, or a path leads nowhere.
            ValueError: a tool rejects the arguments.
        """
        made: list[Made] = []
        for call in self.calls:
            arguments = {name: filled(value, made) for name, value in call.arguments.items()}
            result = call.tool.call(arguments)
            made.append(Made(arguments, result, at(result, call.path)))
        return made


def filled(value: Given, made: Sequence[Made]) -> JSON:
    """Return an argument with the values of earlier calls filled in."""
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
    """Return the value at a path.

    Raises:
        LookupError: the path leads nowhere.
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
    """Return the calls that answer an expression; None if the tools, or those `offered`, cannot."""
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
                self.pair(Shape.GAP, asked, 0, "")
            case Total(kind, how, attribute):
                place = 1 if how is Sum.MEAN else 0
                meanings = [*self.filters(asked), (Role.FIELD, attribute, place)]
                self.call([Shape.TOTAL], kind, asked, meanings, "")
            case Spelled(how, kind, of):
                is_name = how is Text.INITIALS
                shape, form = (Shape.INITIALS, NAME) if is_name else (Shape.DIGITS, CODE)
                self.call([shape], "", asked, [(Role.VALUE, kind, self.entity(of, form))], "")
            case _:
                self.entity(asked, NAME)

    def call(
        self,
        shapes: Sequence[Shape],
        kind: str,
        node: Expression,
        meanings: Sequence[Meaning],
        *reads: str,
        beyond: Path = (),
    ) -> Earlier:
        """Plan a call of the first tool of these shapes for a type that takes all arguments.

        Args:
            shapes: acceptable shapes of tools, in order of preference.
            kind: the type.
            node: the node that the call answers.
            meanings: meanings of its arguments.
            reads: columns in order of preference; the first one that the tool has is read.
            beyond: path from the column's value to the value wanted.

        Raises:
            NoTool: there is no such tool.
        """
        for tool in (tool for shape in shapes for tool in self.box.of(shape, kind)):
            if self.offered is None or tool.name in self.offered:
                arguments = _arguments(tool, meanings)
                if arguments is not None:
                    read = next(column for column in reads if column in tool.reads)
                    path = (*tool.reads[read], *beyond)
                    self.calls.append(Call(tool, arguments, path, node, read))
                    return Earlier(len(self.calls) - 1)
        raise NoTool

    # -- entities ---------------------------------------------------------------------------

    def key(self, of: Entity) -> Given:
        """Return an entity in the form that the tools of its type take."""
        return self.entity(of, self.box.surface.form(type_of(of, self.box.world)))

    def entity(self, asked: Entity, form: str) -> Given:
        """Return an entity by its name or its code."""
        kind = type_of(asked, self.box.world)
        own = self.box.surface.form(kind)
        match asked:
            case Named(_, name, by_code):
                value: Given = str(self.box.world.tables[kind][name][CODE]) if by_code else name
                own = CODE if by_code else NAME
            case Follow(source, relation, of):
                value = self.field(source, self.key(of), relation, asked)
            case Pick():
                value = self.pick(asked, form)
                own = self.calls[-1].read
            case Which(most=most):
                value = self.pair(Shape.COMPARE, asked, int(most), own)
        if own == form:
            return value
        if own == self.box.surface.form(kind):
            return self.field(kind, value, form, asked)
        return self.call([Shape.IDENTIFY], kind, asked, [(Role.KEY, "", value)], form)

    def field(self, kind: str, key: Given, column: str, node: Expression) -> Given:
        """Return a field of an entity's record."""
        meanings: list[Meaning] = [(Role.KEY, "", key)]
        if self.box.surface.style is Style.VALUES:
            meanings.append((Role.FIELD, column, 0))
        return self.call([Shape.RECORD], kind, node, meanings, column)

    def pick(self, asked: Pick, form: str) -> Given:
        meanings, shapes = self.filters(asked), [Shape.FIND]
        if asked.rank:
            meanings.append((Role.SORT, asked.rank.attribute, int(asked.rank.most)))
        elif len(meanings) >= LEAST_KEYS and all(c.test is Test.IS for c in asked.conditions):
            shapes = [Shape.MATCH, Shape.FIND]
        pair = (0,) if asked.rank and self.box.surface.style is Style.VALUES else ()
        own = self.box.surface.form(asked.type)
        return self.call(shapes, asked.type, asked, meanings, form, own, beyond=pair)

    def filters(self, asked: Pick | Total) -> list[Meaning]:
        """Return links and conditions as meanings of parameters."""
        links: list[Meaning] = [(Role.LINK, link.id, self.key(link.end)) for link in asked.links]
        return links + [(Role(test.test), test.attribute, test.value) for test in asked.conditions]

    # -- values -----------------------------------------------------------------------------

    def read(self, asked: Read) -> None:
        value = self.field(asked.type, self.key(asked.of), asked.attribute, asked)
        if asked.unit:
            own = self.box.world.domain.attribute(asked.type, asked.attribute).unit
            meanings = [(Role.VALUE, own, value), (Role.UNIT, asked.unit, asked.unit)]
            self.call([Shape.CONVERT], "", asked, meanings, "")
        if asked.later:
            meanings = [(Role.VALUE, "first", value), (Role.VALUE, "second", asked.later)]
            self.call([Shape.SHIFT], "", asked, meanings, "")

    def pair(self, shape: Shape, asked: Gap | Which, place: int, read: str) -> Given:
        """Plan the comparison of two entities, or the computation of their difference."""
        meanings: list[Meaning] = [
            (Role.KEY, "first", self.key(asked.first)),
            (Role.KEY, "second", self.key(asked.second)),
            (Role.FIELD, asked.attribute, place),
        ]
        return self.call([shape], asked.type, asked, meanings, read)


def _arguments(tool: MadeTool, meanings: Sequence[Meaning]) -> dict[str, Given] | None:
    """Return a call's arguments; None if the tool has no parameter for a meaning, needs another
    one, or would need one argument for two meanings.
    """
    arguments: dict[str, Given] = {}
    for role, of, value in meanings:
        param = tool.param(role, of)
        if param is None or (param.argument in arguments and not param.condition):
            return None
        if any(arguments.get(name, given) != given for name, given in param.along):
            return None
        if role in BY_PLACE and isinstance(value, int):
            value = param.choices[value]
        param.put(arguments, value)  # type: ignore[arg-type]
    return arguments if all(name in arguments for name in tool.required) else None
