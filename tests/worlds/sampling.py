"""Expressions drawn at random over a world, with and without a value."""

from __future__ import annotations

import random

from toolhop_tools.worlds.domain import Kind
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
)
from toolhop_tools.worlds.units import others
from toolhop_tools.worlds.world import World


class Sampler:
    def __init__(self, world: World, drawn: random.Random) -> None:
        self.world, self.types, self.drawn = world, world.domain.types, drawn

    def expression(self, depth: int) -> Expression:
        kind = self.drawn.choice([kind for kind, of in self.types.items() if of.attributes])
        measured = self.attributes(kind, Kind.NUMBER, Kind.YEAR, Kind.DATE)
        match self.drawn.choice(["read", "read", "gap", "total", "text", "entity"]):
            case "read":
                attribute = self.drawn.choice([*self.types[kind].attributes])
                of = self.types[kind].attributes[attribute]
                unit = self.drawn.choice(["", *others(of.unit)])
                later = self.drawn.choice([0, 29, 366]) if of.kind is Kind.DATE else 0
                return Read(kind, attribute, self.entity(kind, depth), unit, later)
            case "gap" if measured:
                first, second = self.entity(kind, depth), self.entity(kind, depth)
                return Gap(kind, self.drawn.choice(measured), first, second)
            case "total" if numbers := self.attributes(kind, Kind.NUMBER):
                how, attribute = self.drawn.choice([*Sum]), self.drawn.choice(numbers)
                attribute = "" if how is Sum.COUNT else attribute
                links = self.links(kind, depth)
                return Total(kind, how, attribute, links, self.conditions(kind))
            case "text":
                how = Text.DIGITS if self.types[kind].code else Text.INITIALS
                return Spelled(how, kind, self.entity(kind, depth))
            case _:
                return self.entity(kind, depth)

    def attributes(self, kind: str, *of: Kind) -> list[str]:
        return [name for name, field in self.types[kind].attributes.items() if field.kind in of]

    def entity(self, kind: str, depth: int) -> Entity:
        named = Named(kind, self.drawn.choice([*self.world.tables[kind]]))
        if not depth:
            return named
        measured = self.attributes(kind, Kind.NUMBER, Kind.YEAR, Kind.DATE)
        into = [(of, name) for of, name, link in self.world.domain.links if link.to == kind]
        single = [(of, name) for of, name in into if not self.world.domain.relation(of, name).many]
        match self.drawn.choice(["follow", "follow", "pick", "pick", "which", "named"]):
            case "follow" if single:
                of, name = self.drawn.choice(single)
                return Follow(of, name, self.entity(of, depth - 1))
            case "which" if measured:
                first, second = self.entity(kind, depth - 1), self.entity(kind, depth - 1)
                most = self.drawn.random() < 0.5
                return Which(kind, self.drawn.choice(measured), most, first, second)
            case "pick" if links := self.links(kind, depth):
                ranks = [Rank(name, most) for name in measured for most in (True, False)]
                rank = self.drawn.choice([None, *ranks])
                return Pick(kind, links, self.conditions(kind), rank)
        return named

    def links(self, kind: str, depth: int) -> tuple[Link, ...]:
        ends = [
            (name, link.to, False) for of, name, link in self.world.domain.links if of == kind
        ] + [(name, of, True) for of, name, link in self.world.domain.links if link.to == kind]
        drawn = self.drawn.sample(ends, min(len(ends), self.drawn.choice([1, 1, 1, 2])))
        return tuple(
            Link(name, self.entity(end, max(depth - 1, 0)), end, back) for name, end, back in drawn
        )

    def conditions(self, kind: str) -> tuple[Condition, ...]:
        if self.drawn.random() < 0.5:
            return ()
        attribute = self.drawn.choice([*self.types[kind].attributes])
        name = self.drawn.choice([*self.world.tables[kind]])
        category = self.types[kind].attributes[attribute].kind is Kind.CATEGORY
        test = Test.IS if category else self.drawn.choice([Test.ABOVE, Test.BELOW])
        return (Condition(attribute, test, self.world.value(kind, attribute, name)),)
