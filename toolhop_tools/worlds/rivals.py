"""Find rivals of a question: other answers that are indistinguishable to a reader without English.

A rival is the value of another expression that could have been asked: with as many hops over the
same names and bounds, the same type of answer, no relation, attribute or entity used twice, and as
many calls of the tools on offer.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, product

from toolhop_tools.worlds.domain import COMPARED, Kind
from toolhop_tools.worlds.draw import CANDIDATES
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
    Undefined,
    Which,
    evaluate,
    meets,
    nodes,
    type_of,
)
from toolhop_tools.worlds.made import Toolbox
from toolhop_tools.worlds.plan import plan
from toolhop_tools.worlds.units import others
from toolhop_tools.worlds.world import Value, World, exceeds

MOST_WAYS = 200
"""Maximum number of ways of one length to extend, drawn at random if there are more."""
MOST_PAIRS = 400
"""Maximum number of pairs of ways combined for one length."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """A value in the question that a condition compares with: it may apply to any attribute of
    its kind, as an upper or lower bound.
    """

    value: Value
    kind: Kind
    unit: str


@dataclass(frozen=True, slots=True)
class _Way:
    """An expression that reaches an entity."""

    expression: Entity
    type: str
    name: str
    passed: frozenset[str]
    """Names of all entities on the way."""
    used: frozenset[tuple[str, str]]
    """Relations and attributes used, by type."""
    given: frozenset[Named | _Bound]
    """Names and bounds of the question that it uses."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A step from one entity to another."""

    type: str
    name: str
    used: frozenset[tuple[str, str]]
    made: Callable[[Entity], Entity]
    like: Follow | Pick
    """The same step from an arbitrary entity; both need the same tool."""


@dataclass
class Rivals:
    """Finds rivals in one world; steps from an entity are cached across questions.

    Args:
        world: the world of the question.
        tools: all tools of the world.
    """

    world: World
    tools: Toolbox
    _steps: dict[tuple[str, str, _Bound | None], list[_Step]] = field(default_factory=dict)
    _linked: dict[tuple[str, str], list[tuple[str, Link, Sequence[str]]]] = field(
        default_factory=dict
    )

    def of(
        self, asked: Expression, offered: Iterable[str], calls: int, drawn: random.Random
    ) -> Iterator[tuple[Value, Expression]]:
        """Yield rivals with distinct values.

        Args:
            asked: the expression whose rivals are sought.
            offered: names of the tools on offer.
            calls: number of calls in its plan.
            drawn: chooses ways if there are too many to follow.
        """
        names = frozenset(offered)
        had = {evaluate(asked, self.world)}
        for expression in _Search(self, asked, names, drawn).found():
            try:
                value = evaluate(expression, self.world)
            except Undefined:
                continue
            if value not in had:
                way = plan(expression, self.tools, names)
                if way and len(way.calls) == calls:
                    had.add(value)
                    yield value, expression

    def steps(self, kind: str, name: str, bound: _Bound | None = None) -> list[_Step]:
        """Return every step from an entity; with a bound, only those that use it."""
        key = (kind, name, bound)
        if key not in self._steps:
            made = self._picks(kind, name, bound)
            self._steps[key] = [*made, *([] if bound else self._follows(kind, name))]
        return self._steps[key]

    def _follows(self, kind: str, name: str) -> Iterator[_Step]:
        for relation, link in self.world.domain.types[kind].relations.items():
            if not link.many:
                end = self.world.related(kind, relation, name)
                yield _Step(
                    link.to, end, frozenset({(kind, relation)}),
                    partial(Follow, kind, relation), Follow(kind, relation, self.any(kind)),
                )  # fmt: skip

    def _picks(self, kind: str, name: str, bound: _Bound | None) -> Iterator[_Step]:
        for of, link, members in self.linked(kind, name):
            like = Pick(of, (replace(link, end=self.any(kind)),))
            for conditions in [()] if bound is None else self.conditions(of, bound):
                left = [m for m in members if all(meets(of, m, c, self.world) for c in conditions)]
                if conditions and len(left) == len(members):
                    continue
                pick = Pick(of, (link,), conditions)
                if conditions and len(left) == 1:
                    yield _picking(pick, left[0], like)
                if len(left) >= CANDIDATES:
                    yield from self._ranked(pick, left, like)

    def conditions(self, of: str, bound: _Bound) -> Iterator[tuple[Condition]]:
        """Yield conditions on a type that compare with a bound."""
        tests = [Test.IS] if bound.kind is Kind.CATEGORY else [Test.ABOVE, Test.BELOW]
        for name, attribute in self.world.domain.types[of].attributes.items():
            if (attribute.kind, attribute.unit) == (bound.kind, bound.unit):
                yield from ((Condition(name, test, bound.value),) for test in tests)

    def _ranked(self, pick: Pick, members: Sequence[str], like: Pick) -> Iterator[_Step]:
        compared = {condition.attribute for condition in pick.conditions}
        for name, attribute in self.world.domain.types[pick.type].attributes.items():
            if attribute.kind in COMPARED and name not in compared:
                for most in (True, False):
                    if best := self._first(pick.type, members, name, most=most):
                        yield _picking(replace(pick, rank=Rank(name, most)), best, like)

    def linked(self, kind: str, name: str) -> list[tuple[str, Link, Sequence[str]]]:
        """Return types whose entities are linked to an entity, with the link and these entities."""
        if (kind, name) not in self._linked:
            self._linked[kind, name] = list(self._links(kind, name))
        return self._linked[kind, name]

    def _links(self, kind: str, name: str) -> Iterator[tuple[str, Link, Sequence[str]]]:
        for of, relation, link in self.world.domain.links:
            if link.to == kind and (members := self.world.sources(of, relation, name)):
                yield of, Link(relation, Named(kind, name), kind), members
            if link.many and of == kind:
                members = self.world.relateds(kind, relation, name)
                yield link.to, Link(relation, Named(kind, name), kind, backward=True), members

    def _first(self, of: str, members: Sequence[str], attribute: str, *, most: bool) -> str | None:
        """Return the entity with the greatest or smallest value; None if two tie."""
        values = sorted(((self.world.value(of, attribute, m), m) for m in members), reverse=most)
        return values[0][1] if values[0][0] != values[1][0] else None

    def any(self, kind: str) -> Named:
        """Return an arbitrary entity of a type."""
        return Named(kind, next(iter(self.world.tables[kind])))


def _picking(pick: Pick, name: str, like: Pick) -> _Step:
    """Return the step from the end of a pick's link to the picked entity."""
    used = {link.column(pick.type) for link in pick.links}
    used |= {(pick.type, condition.attribute) for condition in pick.conditions}
    used |= {(pick.type, pick.rank.attribute)} if pick.rank else set()

    def made(end: Entity) -> Entity:
        return replace(pick, links=tuple(replace(link, end=end) for link in pick.links))

    return _Step(pick.type, name, frozenset(used), made, like)


@dataclass
class _Search:
    """Searches ways from the names and bounds of one question, by length."""

    rivals: Rivals
    asked: Expression
    offered: frozenset[str]
    drawn: random.Random
    ways: dict[int, list[_Way]] = field(default_factory=lambda: defaultdict(list))
    _can: dict[Entity, bool] = field(default_factory=dict)

    @cached_property
    def named(self) -> frozenset[Named]:
        """Entities named in the question."""
        return frozenset(node for node in nodes(self.asked) if isinstance(node, Named))

    @cached_property
    def bounds(self) -> frozenset[_Bound]:
        """Values in the question's conditions."""
        return frozenset(
            _Bound(condition.value, of.kind, of.unit)
            for node in nodes(self.asked)
            for condition in (node.conditions if isinstance(node, Pick | Total) else ())
            for of in [self.rivals.world.domain.attribute(node.type, condition.attribute)]
        )

    def found(self) -> Iterator[Expression]:
        """Yield expressions as long as the question's that use everything it names."""
        world = self.rivals.world
        hops = sum(not isinstance(node, Named) for node in nodes(self.asked))
        wanted = type_of(self.asked, world)
        self.ways[0] = [
            _Way(each, each.type, each.name, frozenset({each.name}), frozenset(), frozenset({each}))
            for each in sorted(self.named, key=str)
        ]
        is_entity = wanted in world.tables
        for length in range(1, hops + is_entity):
            self.ways[length] = self._next(length)
        if is_entity:
            yield from (way.expression for way in self._whole(hops) if way.type == wanted)
            return
        makers = [self._read(hops), self._gaps(hops)]
        if isinstance(self.asked, Spelled):
            makers = [self._spelled(self.asked, hops)]
        elif isinstance(self.asked, Total) or wanted.startswith("number"):
            makers.append(self._totals(hops))
        for expression in chain.from_iterable(makers):
            if type_of(expression, world) == wanted and self._same_form(expression):
                yield expression

    def _whole(self, length: int) -> Iterator[_Way]:
        """Yield ways of this length that use everything that the question names."""
        return (way for way in self._mixed(self.ways[length]) if self._is_whole(way.given))

    def _is_whole(self, given: frozenset[Named | _Bound]) -> bool:
        return given == self.named | self.bounds

    def _mixed(self, ways: Iterable[_Way]) -> list[_Way]:
        mixed = list(ways)
        self.drawn.shuffle(mixed)
        return mixed

    def _next(self, length: int) -> list[_Way]:
        """Return ways of this length, one for each entity and set of names and bounds used."""
        ways: dict[tuple[str, frozenset[Named | _Bound]], _Way] = {}
        for way in self._mixed(self.ways[length - 1]):
            left = [each for each in sorted(self.bounds, key=str) if each not in way.given]
            for bound in (None, *left):
                uses = way.given | {bound} if bound else way.given
                for step in self.rivals.steps(way.type, way.name, bound):
                    key = (step.name, uses)
                    if key in ways or step.name in way.passed or step.used & way.used:
                        continue
                    if self.can(step.like):
                        ways[key] = _Way(
                            step.made(way.expression), step.type, step.name,
                            way.passed | {step.name}, way.used | step.used, uses,
                        )  # fmt: skip
        for way in self._joined(length):
            ways.setdefault((way.name, way.given), way)
        return self._mixed(ways.values())[:MOST_WAYS]

    def _pairs(self, length: int) -> Iterator[tuple[_Way, _Way]]:
        """Yield pairs of disjoint ways with this total length, including the step to join them."""
        pairs = [
            pair
            for first in range((length - 1) // 2 + 1)
            for pair in product(self.ways[first], self.ways[length - 1 - first])
        ]
        if len(pairs) > MOST_PAIRS:
            pairs = self.drawn.sample(pairs, MOST_PAIRS)
        for one, other in pairs:
            if not (one.given & other.given or one.used & other.used or one.passed & other.passed):
                yield one, other

    def _joined(self, length: int) -> Iterator[_Way]:
        """Yield ways that join two others: to the greater entity, or to one linked to both."""
        for one, other in self._pairs(length):
            passed, given = one.passed | other.passed, one.given | other.given
            for step_used, name, kind, expression in self._both(one, other):
                if not step_used & (one.used | other.used):
                    used = one.used | other.used | step_used
                    yield _Way(expression, kind, name, passed | {name}, used, given)

    def _both(
        self, one: _Way, other: _Way
    ) -> Iterator[tuple[frozenset[tuple[str, str]], str, str, Entity]]:
        world = self.rivals.world
        if one.type == other.type:
            for attribute, compared in world.domain.types[one.type].attributes.items():
                values = [world.value(one.type, attribute, way.name) for way in (one, other)]
                if compared.kind in COMPARED and values[0] != values[1]:
                    for most in (True, False):
                        is_first = exceeds(values[0], values[1]) is most
                        expression = Which(
                            one.type, attribute, most, one.expression, other.expression
                        )
                        best = one.name if is_first else other.name
                        yield frozenset({(one.type, attribute)}), best, one.type, expression
        linked = self.rivals.linked(other.type, other.name)
        for of, link, members in self.rivals.linked(one.type, one.name):
            for other_of, other_link, other_members in linked:
                if other_of != of or min(len(members), len(other_members)) < 2:
                    continue
                both = [member for member in members if member in other_members]
                if len(both) == 1:
                    links = (
                        replace(link, end=one.expression),
                        replace(other_link, end=other.expression),
                    )
                    used = frozenset(each.column(of) for each in links)
                    if len(used) == len(links):
                        yield used, both[0], of, Pick(of, links)

    def _same_form(self, other: Expression) -> bool:
        """Whether both questions state the same form of answer, such as the same rounding."""
        rounded = [isinstance(each, Total) and each.how is Sum.MEAN for each in (self.asked, other)]
        units = [isinstance(each, Read) and bool(each.unit) for each in (self.asked, other)]
        return rounded[0] == rounded[1] and units[0] == units[1]

    def _read(self, hops: int) -> Iterator[Expression]:
        asked = self.asked
        unit, later = (asked.unit, asked.later) if isinstance(asked, Read) else ("", 0)
        for way in self._whole(hops - 1):
            for attribute, of in self.rivals.world.domain.types[way.type].attributes.items():
                converts = not unit or unit in others(of.unit)
                shifts = not later or of.kind is Kind.DATE
                if converts and shifts and (way.type, attribute) not in way.used:
                    yield Read(way.type, attribute, way.expression, unit, later)

    def _spelled(self, asked: Spelled, hops: int) -> Iterator[Expression]:
        is_person = asked.how is Text.INITIALS
        for way in self._whole(hops - 1):
            of = self.rivals.world.domain.types[way.type]
            if of.names.startswith("{person}") if is_person else of.code:
                yield Spelled(asked.how, way.type, way.expression)

    def _gaps(self, hops: int) -> Iterator[Expression]:
        for one, other in self._pairs(hops):
            if one.type == other.type and self._is_whole(one.given | other.given):
                for attribute, of in self.rivals.world.domain.types[one.type].attributes.items():
                    if of.kind in COMPARED and (one.type, attribute) not in one.used | other.used:
                        yield Gap(one.type, attribute, one.expression, other.expression)

    def _totals(self, hops: int) -> Iterator[Expression]:
        how = self.asked.how if isinstance(self.asked, Total) else Sum.TOTAL
        for way in self._mixed(self.ways[hops - 1]):
            if not self.named <= way.given or len(left := self.bounds - way.given) > 1:
                continue
            for of, link, members in self.rivals.linked(way.type, way.name):
                if len(members) < CANDIDATES or link.column(of) in way.used:
                    continue
                attributes = self.rivals.world.domain.types[of].attributes
                numbers = [name for name, each in attributes.items() if each.kind is Kind.NUMBER]
                ended = (replace(link, end=way.expression),)
                several = (self.rivals.conditions(of, bound) for bound in left)
                for conditions in chain.from_iterable(several) if left else [()]:
                    used = way.used | {(of, condition.attribute) for condition in conditions}
                    for attribute in [""] if how is Sum.COUNT else numbers:
                        adds = how is not Sum.TOTAL or attributes[attribute].adds
                        if adds and (of, attribute) not in used:
                            yield Total(of, how, attribute, ended, conditions)

    def can(self, step: Follow | Pick) -> bool:
        """Whether a tool on offer can take a step."""
        if step not in self._can:
            way = plan(step, self.rivals.tools)
            # Other calls may look up codes; `of` checks the whole plan later.
            main = [call for call in way.calls if call.node is step] if way else []
            self._can[step] = bool(main) and main[0].tool.name in self.offered
        return self._can[step]
