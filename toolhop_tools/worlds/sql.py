"""A second engine: a world as an SQLite database, each expression as one SQL query.

It is based on the descriptions of nodes in `expression` and shares no code with `evaluate`: if the
two differ, one of them is wrong.
"""

from __future__ import annotations

import re
import sqlite3
import weakref
from dataclasses import dataclass, field
from typing import assert_never

from toolhop_tools.worlds.domain import Domain, Kind
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
    Undefined,
    Which,
)
from toolhop_tools.worlds.units import UNITS
from toolhop_tools.worlds.world import CODE, Row, Value, World

COMPARED = {Test.ABOVE: ">", Test.BELOW: "<", Test.IS: "="}


class Database:
    """A world in memory: a table for each type, and one for each relation with several targets."""

    def __init__(self, world: World) -> None:
        self.domain = world.domain
        self._connection = sqlite3.connect(":memory:")
        weakref.finalize(self, self._connection.close)
        for kind, rows in world.tables.items():
            of = world.domain.types[kind]
            many = [name for name, relation in of.relations.items() if relation.many]
            columns = {"name": "TEXT PRIMARY KEY"} | dict.fromkeys(of.relations, "TEXT")
            columns |= {CODE: "TEXT"} if of.code else {}
            columns |= {
                name: "INTEGER" if attribute.kind in {Kind.NUMBER, Kind.YEAR} else "TEXT"
                for name, attribute in of.attributes.items()
            }
            for relation in many:
                del columns[relation]
            self._fill(kind, columns, [{"name": name, **row} for name, row in rows.items()])
            for relation in many:
                pairs: list[Row] = [
                    {"source": name, "target": end}
                    for name in rows
                    for end in world.relateds(kind, relation, name)
                ]
                self._fill(f"{kind}.{relation}", {"source": "TEXT", "target": "TEXT"}, pairs)

    def _fill(self, table: str, columns: dict[str, str], rows: list[Row]) -> None:
        declared = ", ".join(f"{_quoted(name)} {kind}" for name, kind in columns.items())
        self._connection.execute(f"CREATE TABLE {_quoted(table)} ({declared})")
        marks = ", ".join("?" * len(columns))
        self._connection.executemany(
            f"INSERT INTO {_quoted(table)} VALUES ({marks})",
            [[row[name] for name in columns] for row in rows],
        )

    def value(self, asked: Expression) -> Value:
        """Return the value of an expression, as `evaluate` does.

        Raises:
            Undefined: no entity or several fit, two tie, or fewer than two can be aggregated.
        """
        query = _Query(self.domain)
        last = query.value(asked)
        text = f"WITH {', '.join(query.entities)} {last}" if query.entities else last
        row = self._connection.execute(text, query.bound).fetchone()
        if row is None or row[0] is None:
            raise Undefined("no row, or several, in SQL")
        value: Value = row[0]
        match asked:
            case Read(kind, attribute, _, unit) if unit:
                own = self.domain.attribute(kind, attribute).unit
                ratio = UNITS[own].size / UNITS[unit].size
                return _tenths(int(value) * ratio.numerator, ratio.denominator)
            case Spelled(Text.INITIALS):
                return re.sub(r"(\S)\S*\s*", r"\1", str(value)).upper()
            case Total(how=Sum.MEAN):
                return _tenths(int(value), int(row[1]))
            case _:
                return value


@dataclass
class _Query:
    """Compiles an expression."""

    domain: Domain
    entities: list[str] = field(default_factory=list)
    """Named subqueries, one per entity, in order: nested ones soon exceed the depth of SQLite's
    parser."""
    bound: dict[str, Value] = field(default_factory=dict)
    """Values of the query's parameters."""

    def value(self, asked: Expression) -> str:
        match asked:
            case Read(kind, attribute, of, _, later):
                where = f"name = {self.entity(of)}"
                read = _quoted(attribute)
                read = f"date({read}, '+{later} days')" if later else read
                return f"SELECT {read} FROM {_quoted(kind)} WHERE {where}"
            case Spelled(Text.DIGITS, kind, of):
                letters = self._bind("ABCDEFGHIJKLMNOPQRSTUVWXYZ-")
                number = f"CAST(ltrim({CODE}, {letters}) AS INTEGER)"
                return f"SELECT {number} FROM {_quoted(kind)} WHERE name = {self.entity(of)}"
            case Spelled(of=of):
                return f"SELECT {self.entity(of)}"
            case Gap(kind, attribute, first, second):
                date = self.domain.attribute(kind, attribute).kind is Kind.DATE
                a, b = (
                    f"julianday({end}.{_quoted(attribute)})"
                    if date
                    else f"{end}.{_quoted(attribute)}"
                    for end in "ab"
                )
                both = self._both(kind, first, second)
                return f"SELECT CAST(abs({a} - {b}) AS INTEGER) FROM {both} AND {a} <> {b}"
            case Total(kind, how, attribute, links, conditions):
                summed = "count(*)" if how is Sum.COUNT else f"sum({_quoted(attribute)})"
                several = f"CASE WHEN count(*) >= 2 THEN {summed} END"
                members = self._members(kind, links, conditions)
                return f"SELECT {several}, count(*) FROM {members}"
            case _:
                return f"SELECT {self.entity(asked)}"

    def entity(self, asked: Entity) -> str:
        """Return a scalar query for the entity's name; NULL unless exactly one fits."""
        match asked:
            case Named(kind, name):
                rows = f"SELECT name FROM {_quoted(kind)} WHERE name = {self._bind(name)}"
            case Follow(kind, relation, of):
                where = f"name = {self.entity(of)}"
                rows = f"SELECT {_quoted(relation)} AS name FROM {_quoted(kind)} WHERE {where}"
            case Pick(kind, links, conditions, rank):
                members = self._members(kind, links, conditions)
                order = rank and f"{_quoted(rank.attribute)} {'DESC' if rank.most else 'ASC'}"
                place = f"rank() OVER (ORDER BY {order})" if order else "1"
                rows = f"SELECT name FROM (SELECT name, {place} AS place FROM {members})"
                rows += " WHERE place = 1"
            case Which(kind, attribute, most, first, second):
                a, b = f"a.{_quoted(attribute)}", f"b.{_quoted(attribute)}"
                chosen = f"CASE WHEN {a} {'>' if most else '<'} {b} THEN a.name ELSE b.name END"
                both = self._both(kind, first, second)
                rows = f"SELECT {chosen} AS name FROM {both} AND {a} <> {b}"
            case _:
                assert_never(asked)
        table = f"e{len(self.entities)}"
        self.entities.append(
            f"{table} AS (SELECT CASE count(*) WHEN 1 THEN min(name) END AS name FROM ({rows}))"
        )
        return f"(SELECT name FROM {table})"

    def _both(self, kind: str, first: Entity, second: Entity) -> str:
        """Return a FROM clause with two entities, as ``a`` and ``b``."""
        ends = f"a.name = {self.entity(first)} AND b.name = {self.entity(second)}"
        return f"{_quoted(kind)} a, {_quoted(kind)} b WHERE {ends}"

    def _members(
        self, kind: str, links: tuple[Link, ...], conditions: tuple[Condition, ...]
    ) -> str:
        """Return a FROM clause for the entities that meet these links and conditions."""
        where = ["TRUE", *(self._linked(kind, link) for link in links)]
        where += [
            f"{_quoted(condition.attribute)} {COMPARED[condition.test]} "
            + self._bind(condition.value)
            for condition in conditions
        ]
        return f"{_quoted(kind)} WHERE {' AND '.join(where)}"

    def _linked(self, kind: str, link: Link) -> str:
        end = self.entity(link.end)
        of, _ = link.column(kind)
        if self.domain.relation(of, link.relation).many:
            here, there = ("target", "source") if link.backward else ("source", "target")
            pairs = _quoted(f"{of}.{link.relation}")
            return f"name IN (SELECT {here} FROM {pairs} WHERE {there} = {end})"
        if link.backward:
            relation = _quoted(link.relation)
            return f"name IN (SELECT {relation} FROM {_quoted(of)} WHERE name = {end})"
        return f"{_quoted(link.relation)} = {end}"

    def _bind(self, value: Value) -> str:
        name = f"p{len(self.bound)}"
        self.bound[name] = value
        return f":{name}"


def _quoted(name: str) -> str:
    """Quote a table or column; SQLite would read a misspelt name in double quotes as text."""
    return f"[{name}]"


def _tenths(over: int, under: int) -> float:
    """Round a fraction to one decimal, half to even."""
    tenths, rest = divmod(10 * over, under)
    return (tenths + (2 * rest > under or (2 * rest == under and tenths % 2 == 1))) / 10
