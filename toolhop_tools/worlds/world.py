"""A world: the entities of a domain with invented names, filled from a seed.

Names and values have separate seeds, so that worlds can have the same names and other values: what
holds in only one of them is chance.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from typing import TypeAlias

from toolhop_tools.worlds.domain import Attribute, Domain, Kind, Relation
from toolhop_tools.worlds.names import coined

Value: TypeAlias = str | int | float
"""Value of an attribute; dates are texts, YYYY-MM-DD."""
Row: TypeAlias = dict[str, Value | tuple[str, ...]]
"""Fields of an entity: attributes, relations (a name, or a tuple of names), and its ``code``."""
NAME, CODE = "name", "code"
"""Fields that identify an entity, as tools name them."""
MANY = (2, 5)
"""Minimum and maximum number of targets of a relation that has several."""


@dataclass(frozen=True)
class World:
    """The entities of a domain, by type and name."""

    domain: Domain
    tables: dict[str, dict[str, Row]]

    def value(self, kind: str, attribute: str, name: str) -> Value:
        """Return an attribute of an entity."""
        value = self.tables[kind][name][attribute]
        if isinstance(value, tuple):
            raise TypeError(f"{kind}.{attribute} is a relation of many")
        return value

    def related(self, kind: str, relation: str, name: str) -> str:
        """Return the entity to which one is related."""
        return str(self.value(kind, relation, name))

    def relateds(self, kind: str, relation: str, name: str) -> tuple[str, ...]:
        """Return all entities to which one is related."""
        value = self.tables[kind][name][relation]
        return value if isinstance(value, tuple) else (str(value),)

    def sources(self, kind: str, relation: str, name: str) -> tuple[str, ...]:
        """Return the entities of a type that are related to one."""
        return self._sources.get((kind, relation, name), ())

    @cached_property
    def _sources(self) -> dict[tuple[str, str, str], tuple[str, ...]]:
        sources: dict[tuple[str, str, str], list[str]] = {}
        for kind, relation, _ in self.domain.links:
            for name in self.tables[kind]:
                for end in self.relateds(kind, relation, name):
                    sources.setdefault((kind, relation, end), []).append(name)
        return {key: tuple(names) for key, names in sources.items()}

    @cached_property
    def owner(self) -> dict[str, str]:
        """Type of every name and code; no name belongs to two types."""
        owner: dict[str, str] = {}
        for kind, rows in self.tables.items():
            for name, row in rows.items():
                owner[name] = kind
                if CODE in row:
                    owner[str(row[CODE])] = kind
        return owner


def make(domain: Domain, names_seed: str, values_seed: str, size: float = 1.0) -> World:
    """Make a world.

    Args:
        domain: the domain.
        names_seed: seed of the entities, their names and codes.
        values_seed: seed of everything else.
        size: factor for the domain's counts.
    """
    drawn = random.Random(names_seed)
    taken: set[str] = set()
    tables: dict[str, dict[str, Row]] = {}
    for kind, of in domain.types.items():
        count = round(drawn.randint(*of.count) * size)
        names = [coined(of.names, drawn, taken) for _ in range(count)]
        codes = _codes(of.code, count, drawn)
        tables[kind] = {
            name: {CODE: code} if code else {} for name, code in zip(names, codes, strict=True)
        }
    return filled(World(domain, tables), values_seed)


def filled(world: World, values_seed: str) -> World:
    """Return a world with the same names and codes and values from another seed."""
    tables = {
        kind: {name: {CODE: row[CODE]} if CODE in row else Row() for name, row in rows.items()}
        for kind, rows in world.tables.items()
    }
    new = World(world.domain, tables)
    _Filling(new, random.Random(values_seed)).fill()
    return new


def _codes(form: str, count: int, drawn: random.Random) -> list[str]:
    """Return distinct codes in a format; empty texts if the format is empty."""
    if not form:
        return [""] * count
    digits = form.count("#")
    numbers = drawn.sample(range(10 ** (digits - 1), 10**digits), count)
    head, tail = form.split("#", 1)[0], form.rsplit("#", 1)[1]
    return [f"{head}{number}{tail}" for number in numbers]


@dataclass(frozen=True)
class _Filling:
    """Draws relations and attributes; those on which another depends are drawn first."""

    world: World
    drawn: random.Random
    alike: dict[tuple[str, str], defaultdict[str, list[str]]] = field(default_factory=dict)
    """Entities of a type grouped by where a path leads from them, by type and path."""

    def fill(self) -> None:
        domain, tables = self.world.domain, self.world.tables
        for kind, relation, link in domain.links:
            if not (link.many or link.same):
                self._free(kind, relation, link)
        for kind, relation, link in domain.links:
            for name in () if link.many else tables[kind]:
                self._relation(kind, relation, name)
        for kind, relation, link in domain.links:
            for name in tables[kind] if link.many else ():
                tables[kind][name][relation] = self._several(kind, link, name)
        for kind, of in domain.types.items():
            for name in tables[kind]:
                for attribute in of.attributes:
                    self._value(kind, attribute, name)

    def _free(self, kind: str, relation: str, link: Relation) -> None:
        """Draw an unconstrained relation: every target is used once before any is used twice."""
        ends = list(self.world.tables[link.to])
        waiting = self.drawn.sample(ends, len(ends))
        for name, row in self.world.tables[kind].items():
            others = self._others(kind, name, link.to)
            end = next((end for end in waiting if end not in others), None)
            if end is None:
                end = self.drawn.choice([end for end in ends if end not in others])
            else:
                waiting.remove(end)
            row[relation] = end

    def _several(self, kind: str, link: Relation, name: str) -> tuple[str, ...]:
        others = self._others(kind, name, link.to)
        ends = [end for end in self.world.tables[link.to] if end not in others]
        return tuple(self.drawn.sample(ends, min(len(ends), self.drawn.randint(*MANY))))

    def _others(self, kind: str, name: str, to: str) -> set[str]:
        """Return entities of a type that are already related to one, and the entity itself."""
        row = self.world.tables[kind][name]
        relations = self.world.domain.types[kind].relations.items()
        drawn = [each for each, link in relations if link.to == to and each in row]
        ends = {end for each in drawn for end in self.world.relateds(kind, each, name)}
        return ends | {name}

    def _relation(self, kind: str, relation: str, name: str) -> str:
        row = self.world.tables[kind][name]
        if relation not in row:
            link = self.world.domain.relation(kind, relation)
            row[relation] = self._alike(kind, link, name)
        return str(row[relation])

    def _alike(self, kind: str, link: Relation, name: str) -> str:
        """Draw a target whose path leads to the same entity as the source's path."""
        shared = self._walked(kind, link.same[0], name)
        if (link.to, link.same[1]) not in self.alike:
            by_shared = self.alike.setdefault((link.to, link.same[1]), defaultdict(list))
            for end in self.world.tables[link.to]:
                by_shared[self._walked(link.to, link.same[1], end)].append(end)
        ends = self.alike[link.to, link.same[1]][shared]
        others = self._others(kind, name, link.to)
        if not (left := [end for end in ends if end not in others] or ends):
            raise ValueError(f"{kind} {name} has no {link.to} to be related to; raise their count")
        return self.drawn.choice(left)

    def _walked(self, kind: str, path: str, name: str) -> str:
        """Return the entity to which a path leads."""
        for step in path.split(".") if path else ():
            name = self._relation(kind, step, name)
            kind = self.world.domain.relation(kind, step).to
        return name

    def _value(self, kind: str, attribute: str, name: str) -> Value:
        row, of = self.world.tables[kind][name], self.world.domain.attribute(kind, attribute)
        if attribute not in row:
            row[attribute] = self._drawn(of, self._start(kind, of, name))
        return self.world.value(kind, attribute, name)

    def _start(self, kind: str, of: Attribute, name: str) -> Value | None:
        """Return the value that an attribute follows; None if there is none."""
        if not of.after:
            return None
        path, _, attribute = of.after.rpartition(".")
        return self._value(
            self.world.domain.end(kind, path), attribute, self._walked(kind, path, name)
        )

    def _drawn(self, of: Attribute, start: Value | None) -> Value:
        if of.kind is Kind.CATEGORY:
            return self.drawn.choice(of.values)
        if of.kind is Kind.DATE:
            if start is None:
                first, least, most = date(of.low, 1, 1), 0, (of.high - of.low + 1) * 365 - 1
            else:
                first, least, most = _day(start), of.low, of.high
            return (first + timedelta(days=self.drawn.randint(least, most))).isoformat()
        base = 0 if start is None else int(str(start)[:4]) if isinstance(start, str) else start
        value = self.drawn.randint(of.low // of.step, of.high // of.step) * of.step
        return int(base + value)


def _day(start: Value) -> date:
    return date.fromisoformat(start) if isinstance(start, str) else date(int(start) + 1, 1, 1)


def exceeds(value: Value, bound: Value) -> bool:
    """Whether a value of an attribute is greater or later than another."""
    if isinstance(value, str) or isinstance(bound, str):
        return str(value) > str(bound)
    return value > bound


def days_after(day: Value, days: int) -> str:
    """Return the date a number of days after another."""
    return (date.fromisoformat(str(day)) + timedelta(days)).isoformat()


def gap(first: Value, second: Value) -> float:
    """Return the difference between two values of an attribute, in days for dates."""
    if isinstance(first, str) or isinstance(second, str):
        return abs((date.fromisoformat(str(first)) - date.fromisoformat(str(second))).days)
    return abs(first - second)
