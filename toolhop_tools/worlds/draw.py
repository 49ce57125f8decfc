"""Draw expressions over a world backward, from the answer to the names in the question.

Drawing backward avoids sets that are too small: the entity that a superlative must pick is known
before the set is. No entity, relation or attribute is used twice, so that no chain runs in a
circle.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from toolhop_tools.worlds.checks import FEW
from toolhop_tools.worlds.domain import COMPARED, Attribute, Kind
from toolhop_tools.worlds.expression import (
    Condition,
    Entity,
    Expression,
    Follow,
    Gap,
    Link,
    Named,
    Pick,
    Rank,
    Read,
    Spelled,
    Sum,
    Test,
    Text,
    Total,
    Which,
    linked,
    meets,
)
from toolhop_tools.worlds.knobs import Joins, Knobs
from toolhop_tools.worlds.units import others
from toolhop_tools.worlds.world import CODE, Value, World, exceeds

T = TypeVar("T")
CANDIDATES = 3
"""Minimum number of entities from which a superlative or a condition selects."""
JOINED = 3
"""Minimum hops of a join: one in each branch, and one that joins them."""
TRIES = 30
STEPS = 6
"""Number of ways tried from one entity."""
BACKTRACKS = 60
"""Maximum number of backtracking steps in one try."""
LATER = 0.4
"""Probability with which a requested date is shifted by some days."""
SHIFTED = 2
"""Number of hops that must be exceeded for a date to be shifted: the shift is itself a hop."""
DAYS_LATER = (30, 400)
"""Minimum and maximum shift, in days."""


class Stuck(Exception):
    """No expression of this shape was found from here; draw again."""


def draw(world: World, knobs: Knobs, drawn: random.Random) -> Expression:
    """Draw an expression whose number of nodes is within `knobs.hops`.

    Raises:
        Stuck: none was found in `TRIES` tries.
    """
    hops = drawn.randint(*knobs.hops)
    share = {Joins.NONE: 0.0, Joins.SOME: 1 / 3, Joins.ALL: 1.0}[knobs.joins]
    joins = drawn.random() < share and hops >= JOINED
    for _ in range(TRIES):
        try:
            return _Drawing(world, knobs, drawn).top(hops, joins)
        except Stuck:
            continue
    raise Stuck(f"no expression of {hops} hops in {TRIES} tries")


@dataclass
class _Drawing:
    """State of drawing one expression."""

    world: World
    knobs: Knobs
    drawn: random.Random
    entities: set[str] = field(default_factory=set)
    """Names of the entities used; none is used twice."""
    left: int = BACKTRACKS
    used: set[tuple[str, str]] = field(default_factory=set)
    """Relations and attributes used, by type; none is used twice."""

    def top(self, hops: int, joins: bool) -> Expression:
        """Draw the outermost expression: an entity, an attribute, or a value of several."""
        kind = self._type()
        ways = [*[self._read] * 4, *[self._total] * 2, *[self._name] * 2, self._spelled]
        if joins and hops >= JOINED:
            ways += [self._gap] * 2
        return self.drawn.choice(ways)(kind, hops, joins)

    def _type(self) -> str:
        return self.drawn.choice(list(self.world.domain.types))

    def _any(self, kind: str) -> str:
        return self.drawn.choice(list(self.world.tables[kind]))

    def _name(self, kind: str, hops: int, joins: bool) -> Expression:
        return self.reach(kind, self._any(kind), hops, joins)

    def _read(self, kind: str, hops: int, joins: bool) -> Expression:
        attribute = self._attribute(kind, *COMPARED)
        of = self.world.domain.attribute(kind, attribute)
        into = others(of.unit) if self.knobs.units and self.drawn.random() < 0.5 else []
        unit = self.drawn.choice(into) if into else ""
        moves = of.kind is Kind.DATE and hops > SHIFTED and self.drawn.random() < LATER
        later = self.drawn.randint(*DAYS_LATER) if moves else 0
        below = hops - 1 - bool(unit) - bool(later)
        return Read(kind, attribute, self.reach(kind, self._any(kind), below, joins), unit, later)

    def _spelled(self, kind: str, hops: int, joins: bool) -> Expression:
        of = self.world.domain.types[kind]
        if of.names.startswith("{person}") and self.drawn.random() < 0.5:
            end = self.reach(kind, self._any(kind), hops - 1, joins)
            return Spelled(Text.INITIALS, kind, end)
        if not of.code:
            raise Stuck
        # Looking up the code usually takes a call of its own.
        return Spelled(Text.DIGITS, kind, self.reach(kind, self._any(kind), hops - 2, joins))

    def _gap(self, kind: str, hops: int, joins: bool) -> Expression:
        del joins
        attribute = self._attribute(kind, *COMPARED)
        ends = [self._any(kind), self._any(kind)]
        if len({self.world.value(kind, attribute, end) for end in ends}) < len(ends):
            raise Stuck
        first, second = self._branches([(kind, end) for end in ends], hops - 1)
        return Gap(kind, attribute, first, second)

    def _total(self, kind: str, hops: int, joins: bool) -> Expression:
        link, end, members = self._link(kind, None)
        conditions: tuple[Condition, ...] = ()
        if self.drawn.random() < 0.5:
            conditions, members = self._condition(kind, members, None)
        if len(members) < CANDIDATES:
            raise Stuck
        if len(members) >= FEW and self.drawn.random() < 0.3:
            how, attribute = Sum.COUNT, ""
        else:
            attribute = self._attribute(kind, Kind.NUMBER)
            adds = self.world.domain.attribute(kind, attribute).adds
            how = self.drawn.choice([Sum.TOTAL, Sum.MEAN]) if adds else Sum.MEAN
        reached = self.reach(link.end_type, end, hops - 1, joins)
        return Total(kind, how, attribute, (replace(link, end=reached),), conditions)

    # -- reaching an entity -----------------------------------------------------------------

    def reach(self, kind: str, name: str, hops: int, joins: bool) -> Entity:
        """Draw an expression with this number of nodes whose value is the given entity.

        Raises:
            Stuck: no step is possible from here.
        """
        if name in self.entities or hops < 0:
            raise Stuck
        self.entities.add(name)
        entities, used = set(self.entities), set(self.used)
        for _ in range(STEPS):
            try:
                return self._step(kind, name, hops, joins)
            except Stuck:
                self.entities, self.used = set(entities), set(used)
                self.left -= 1
                if self.left < 0:
                    raise
        raise Stuck

    def _step(self, kind: str, name: str, hops: int, joins: bool) -> Entity:
        if hops == 0:
            if joins:
                raise Stuck
            has_code = CODE in self.world.tables[kind][name]
            return Named(kind, name, has_code and self.knobs.codes and self.drawn.random() < 0.5)
        if joins and hops >= JOINED and (hops == JOINED or self.drawn.random() < 0.5):
            way = self.drawn.choice([self._join, self._join, self._which])
            return way(kind, name, hops)
        if self.drawn.random() < 0.5:
            return self._follow(kind, name, hops, joins)
        return self._pick(kind, name, hops, joins)

    def _follow(self, kind: str, name: str, hops: int, joins: bool) -> Entity:
        ways = [
            (of, relation, sources)
            for of, relation, link in self.world.domain.links
            if link.to == kind and not link.many and (of, relation) not in self.used
            if (sources := self.world.sources(of, relation, name))
        ]
        of, relation, sources = self._choice(ways)
        self.used.add((of, relation))
        return Follow(of, relation, self.reach(of, self.drawn.choice(sources), hops - 1, joins))

    def _pick(self, kind: str, name: str, hops: int, joins: bool) -> Entity:
        link, end, members = self._link(kind, name)
        conditions, rank = self._singled_out(kind, name, members)
        reached = self.reach(link.end_type, end, hops - 1, joins)
        return Pick(kind, (replace(link, end=reached),), conditions, rank)

    def _join(self, kind: str, name: str, hops: int) -> Entity:
        first, first_end, members = self._link(kind, name)
        second, second_end, others_ = self._link(kind, name)
        both = [member for member in members if member in others_]
        if len(both) in {len(members), len(others_)}:
            raise Stuck
        conditions: tuple[Condition, ...] = ()
        rank = None
        if len(both) > 1:
            conditions, rank = self._singled_out(kind, name, both)
        ends = [(first.end_type, first_end), (second.end_type, second_end)]
        one, other = self._branches(ends, hops - 1)
        return Pick(kind, (replace(first, end=one), replace(second, end=other)), conditions, rank)

    def _which(self, kind: str, name: str, hops: int) -> Entity:
        attribute = self._attribute(kind, *COMPARED)
        other = self._any(kind)
        mine, its = (self.world.value(kind, attribute, end) for end in (name, other))
        if mine == its:
            raise Stuck
        # The entity is reached again as one of the two.
        self.entities.discard(name)
        ends = [(kind, name), (kind, other)]
        self.drawn.shuffle(ends)
        first, second = self._branches(ends, hops - 1)
        return Which(kind, attribute, exceeds(mine, its), first, second)

    def _branches(self, ends: list[tuple[str, str]], hops: int) -> tuple[Entity, Entity]:
        """Draw two expressions with this total number of nodes, at least one each."""
        first = self.drawn.randint(1, hops - 1) if hops > 1 else hops
        (one_kind, one_name), (other_kind, other_name) = ends
        return (
            self.reach(one_kind, one_name, first, joins=False),
            self.reach(other_kind, other_name, hops - first, joins=False),
        )

    # -- what selects an entity -------------------------------------------------------------

    def _link(self, kind: str, name: str | None) -> tuple[Link, str, list[str]]:
        """Draw a link of a type, and return it with its end and all entities so linked.

        Args:
            kind: the type that is linked.
            name: an entity that must be among those linked; None for any end.
        """
        ways = []
        for of, relation, link in self.world.domain.links:
            if (of, relation) in self.used:
                continue
            if of == kind:
                ways.append((relation, link.to, False))
            if link.many and link.to == kind:
                ways.append((relation, of, True))
        relation, end_type, backward = self._choice(ways)
        if name is None:
            ends: tuple[str, ...] = tuple(self.world.tables[end_type])
        elif backward:
            ends = self.world.sources(end_type, relation, name)
        else:
            ends = self.world.relateds(kind, relation, name)
        end = self._choice(ends)
        by = Link(relation, Named(end_type, end), end_type, backward)
        members = linked(kind, by, self.world)
        if len(members) < CANDIDATES:
            raise Stuck
        self.used.add(by.column(kind))
        return by, end, list(members)

    def _singled_out(
        self, kind: str, name: str, members: list[str]
    ) -> tuple[tuple[Condition, ...], Rank | None]:
        """Draw conditions and a rank that select one of several entities."""
        conditions: tuple[Condition, ...] = ()
        left = members
        if self.drawn.random() < 0.35:
            conditions, left = self._condition(kind, members, name)
            if len(left) == 1:
                return conditions, None
        if len(left) < CANDIDATES:
            raise Stuck
        ranks = [
            Rank(attribute, most)
            for attribute, of in self.world.domain.types[kind].attributes.items()
            if of.kind is not Kind.CATEGORY and (kind, attribute) not in self.used
            for most in (True, False)
            if self._first(kind, name, left, attribute, most)
            and not (conditions and self._first(kind, name, members, attribute, most))
        ]
        rank = self._choice(ranks)
        self.used.add((kind, rank.attribute))
        return conditions, rank

    def _first(self, kind: str, name: str, members: list[str], attribute: str, most: bool) -> bool:
        mine = self.world.value(kind, attribute, name)
        values = [self.world.value(kind, attribute, end) for end in members if end != name]
        return all(exceeds(mine, its) if most else exceeds(its, mine) for its in values)

    def _condition(
        self, kind: str, members: list[str], name: str | None
    ) -> tuple[tuple[Condition, ...], list[str]]:
        """Draw a condition and return it with the entities it keeps, `name` among them if given."""
        attribute = self._attribute(kind)
        of = self.world.domain.attribute(kind, attribute)
        kept = name or self._choice(members)
        value = self.world.value(kind, attribute, kept)
        if of.kind is Kind.CATEGORY:
            test, bound = Test.IS, value
        else:
            test = self.drawn.choice([Test.ABOVE, Test.BELOW])
            bound = self._bound(of, value, test)
        condition = Condition(attribute, test, bound)
        left = [member for member in members if meets(kind, member, condition, self.world)]
        if kept not in left or len(left) == len(members):
            raise Stuck
        return (condition,), left

    def _bound(self, of: Attribute, value: Value, test: Test) -> Value:
        """Return a round bound that the value exceeds or falls short of."""
        if isinstance(value, str):
            year = int(value[:4]) + (0 if test is Test.ABOVE else 1)
            return f"{year:04d}-01-01"
        span = max(1, (of.high - of.low) // 4)
        away = self.drawn.randint(1, span)
        bound = int(value) - away if test is Test.ABOVE else int(value) + away
        if of.kind is Kind.NUMBER:
            unit = max(of.step, 10 ** (len(str(abs(bound))) - 2))
            bound = bound // unit * unit + (0 if test is Test.ABOVE else unit)
        if bound <= 0 or bound == value:
            raise Stuck
        return bound

    def _attribute(self, kind: str, *kinds: Kind) -> str:
        """Return an unused attribute and mark it as used."""
        ways = [
            name
            for name, of in self.world.domain.types[kind].attributes.items()
            if (not kinds or of.kind in kinds) and (kind, name) not in self.used
        ]
        attribute = self._choice(ways)
        self.used.add((kind, attribute))
        return attribute

    def _choice(self, ways: Sequence[T]) -> T:
        if not ways:
            raise Stuck
        return self.drawn.choice(ways)
