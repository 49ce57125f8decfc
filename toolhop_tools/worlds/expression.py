"""The meaning of a question as an expression over a world, and its value there.

Every node except `Named` is a hop. An item's tools reach the same value by calls (`plan`), and a
second engine by SQL (`sql`): three implementations of one meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias, assert_never

from toolhop_tools.worlds.domain import difference
from toolhop_tools.worlds.units import PLACES, converted
from toolhop_tools.worlds.world import CODE, Value, World, days_after, exceeds, gap


class Undefined(Exception):
    """The expression has no value, or several, in this world; the message says why."""


@dataclass(frozen=True, slots=True)
class Named:
    """An entity named in the question."""

    type: str
    name: str
    by_code: bool = False
    """Whether the question uses its code instead of its name."""


@dataclass(frozen=True, slots=True)
class Follow:
    """The entity to which another is related."""

    type: str
    """Type of the entity that has the relation."""
    relation: str
    of: Entity


@dataclass(frozen=True, slots=True)
class Link:
    """The requirement that an entity is related to another."""

    relation: str
    """A relation of the picked type; if `backward`, one of the end's type with several targets."""
    end: Entity
    end_type: str
    backward: bool = False
    """Whether the relation is the end's: "ports of call of the Orvale"."""

    def column(self, kind: str) -> tuple[str, str]:
        """Return the relation with the type that has it; `kind` is the linked type."""
        return self.end_type if self.backward else kind, self.relation

    @property
    def id(self) -> str:
        """Identifier among the links of a type: ``island``, or backward ``ship.calls``."""
        return f"{self.end_type}.{self.relation}" if self.backward else self.relation


class Test(StrEnum):
    """Comparison of a condition."""

    ABOVE = "above"
    BELOW = "below"
    IS = "is"


@dataclass(frozen=True, slots=True)
class Condition:
    """A bound on an attribute: strictly above or below, or equal."""

    attribute: str
    test: Test
    value: Value


@dataclass(frozen=True, slots=True)
class Rank:
    """Selection of the greatest or smallest value."""

    attribute: str
    most: bool


@dataclass(frozen=True, slots=True)
class Pick:
    """The one entity of a type that has these links, meets the conditions and ranks first.

    Two links make a join. Without a rank, exactly one entity must match.
    """

    type: str
    links: tuple[Link, ...]
    conditions: tuple[Condition, ...] = ()
    rank: Rank | None = None


@dataclass(frozen=True, slots=True)
class Which:
    """The one of two entities of a type that has the greater or smaller value."""

    type: str
    attribute: str
    most: bool
    first: Entity
    second: Entity


@dataclass(frozen=True, slots=True)
class Read:
    """The value of an attribute of an entity."""

    type: str
    attribute: str
    of: Entity
    unit: str = ""
    """Unit to convert to, rounded to one decimal; empty for the attribute's own unit."""
    later: int = 0
    """Days to add to a date."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Difference between two entities of a type: an absolute number, years, or days for dates."""

    type: str
    attribute: str
    first: Entity
    second: Entity


class Text(StrEnum):
    """What to derive from an entity's name or code."""

    INITIALS = "initials"
    """First letter of each word of the name, in capitals without separators."""
    DIGITS = "digits"
    """Number in the code: 4821 for SH-4821."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A text or number derived from an entity's name or code."""

    how: Text
    type: str
    of: Entity


class Sum(StrEnum):
    """Aggregation of an attribute over several entities."""

    TOTAL = "total"
    MEAN = "mean"
    """Mean, rounded like a converted value."""
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Total:
    """An attribute aggregated over the entities that have these links and meet the conditions."""

    type: str
    how: Sum
    attribute: str
    """Empty for a count."""
    links: tuple[Link, ...]
    conditions: tuple[Condition, ...] = ()


Entity: TypeAlias = Named | Follow | Pick | Which
"""Expressions whose value is an entity's name."""
Expression: TypeAlias = Entity | Read | Gap | Total | Spelled


def evaluate(asked: Expression, world: World) -> Value:
    """Return the value in a world.

    Raises:
        Undefined: no entity or several fit, two tie, or fewer than two can be aggregated.
    """
    match asked:
        case Read(kind, attribute, of, unit, later):
            value = world.value(kind, attribute, entity(of, world))
            if later:
                return days_after(value, later)
            own = world.domain.attribute(kind, attribute).unit
            return converted(value, own, unit) if unit else value
        case Gap(kind, attribute, first, second):
            values = [world.value(kind, attribute, entity(end, world)) for end in (first, second)]
            if values[0] == values[1]:
                raise Undefined("both have the same value")
            return gap(values[0], values[1])
        case Total(kind, how, attribute, _, _):
            names = chosen(asked, world)
            if len(names) < 2:
                raise Undefined(f"{len(names)} of {kind} to sum up")
            if how is Sum.COUNT:
                return len(names)
            values = [world.value(kind, attribute, name) for name in names]
            numbers = [Fraction(value) for value in values if not isinstance(value, str)]
            total = sum(numbers, Fraction())
            return int(total) if how is Sum.TOTAL else float(round(total / len(values), PLACES))
        case Spelled(how, kind, of):
            name = entity(of, world)
            if how is Text.INITIALS:
                return "".join(word[0].upper() for word in name.split())
            code = str(world.tables[kind][name][CODE])
            return int("".join(letter for letter in code if letter.isdigit()))
        case _:
            return entity(asked, world)


def entity(asked: Entity, world: World) -> str:
    """Return the entity's name.

    Raises:
        Undefined: as `evaluate`.
    """
    match asked:
        case Named(kind, name):
            if name not in world.tables[kind]:
                raise Undefined(f"no {kind} {name}")
            return name
        case Follow(kind, relation, of):
            return world.related(kind, relation, entity(of, world))
        case Pick(kind, _, _, rank):
            names = chosen(asked, world)
            return _only(_ranked(names, kind, rank, world) if rank else names, kind)
        case Which(kind, attribute, most, first, second):
            both = [entity(first, world), entity(second, world)]
            return _only(_ranked(both, kind, Rank(attribute, most), world), kind)
        case _:
            assert_never(asked)


def _only(names: list[str], kind: str) -> str:
    if len(names) != 1:
        raise Undefined(f"{len(names)} of {kind}")
    return names[0]


def chosen(asked: Pick | Total, world: World) -> list[str]:
    """Return the entities that have these links and meet the conditions, in world order."""
    names: list[str] = list(world.tables[asked.type])
    for link in asked.links:
        members = set(linked(asked.type, link, world))
        names = [name for name in names if name in members]
    for condition in asked.conditions:
        names = [name for name in names if meets(asked.type, name, condition, world)]
    return names


def linked(kind: str, link: Link, world: World) -> tuple[str, ...]:
    """Return the names of entities of a type that have this link."""
    ends = world.relateds if link.backward else world.sources
    return ends(*link.column(kind), entity(link.end, world))


def meets(kind: str, name: str, condition: Condition, world: World) -> bool:
    """Whether an entity meets a condition."""
    value, bound = world.value(kind, condition.attribute, name), condition.value
    match condition.test:
        case Test.IS:
            return value == bound
        case Test.ABOVE:
            return exceeds(value, bound)
        case Test.BELOW:
            return exceeds(bound, value)


def _ranked(names: list[str], kind: str, rank: Rank, world: World) -> list[str]:
    """Return the names that share the first rank."""
    best: list[str] = []
    for name in names:
        value = world.value(kind, rank.attribute, name)
        first = world.value(kind, rank.attribute, best[0]) if best else value
        if exceeds(value, first) if rank.most else exceeds(first, value):
            best = []
        if not best or value == first:
            best.append(name)
    return best


def parts(asked: Expression) -> tuple[Entity, ...]:
    """Return the operands of a node, in the order in which they are evaluated."""
    match asked:
        case Named():
            return ()
        case Follow(of=of) | Read(of=of) | Spelled(of=of):
            return (of,)
        case Which(first=first, second=second) | Gap(first=first, second=second):
            return (first, second)
        case Pick(links=links) | Total(links=links):
            return tuple(link.end for link in links)
        case _:
            assert_never(asked)


def nodes(asked: Expression) -> list[Expression]:
    """Return all nodes, operands first, including `Named`."""
    return [*(node for part in parts(asked) for node in nodes(part)), asked]


def type_of(asked: Expression, world: World) -> str:
    """Return the type of an entity, or the kind (`Kind`) of a value with any unit."""
    match asked:
        case Named(type=kind) | Pick(type=kind) | Which(type=kind):
            return kind
        case Follow(kind, relation, _):
            return world.domain.relation(kind, relation).to
        case Read(kind, attribute, _, unit):
            own = world.domain.attribute(kind, attribute)
            return f"{own.kind} {unit}" if unit else own.type
        case Spelled(how):
            return str(how)
        case Gap(kind, attribute, _, _):
            return difference(world.domain.attribute(kind, attribute).type)
        case Total(kind, how, attribute, _, _):
            return "number" if how is Sum.COUNT else world.domain.attribute(kind, attribute).type
        case _:
            assert_never(asked)
