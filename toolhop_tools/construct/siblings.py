"""Siblings of an item: one record of one table is another, and so the answer is. Pure.

Question and tools' schemas are the item's own: who knows the item's answer by heart, and asks
nobody, is wrong about its sibling.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.accept import hazards
from toolhop_tools.construct.facts import TABLE, table_text
from toolhop_tools.construct.text import filled, resolved, same, texts
from toolhop_tools.model import GoldCall, Hop, Item, Tool
from toolhop_tools.perturb.change import drawn
from toolhop_tools.reading import Match, Reading
from toolhop_tools.words import as_text, bare

SIBLING = "sibling"
MOST = 12
"""Changes of an item that are tried."""


@dataclass(frozen=True, slots=True)
class Change:
    """One record that has another value in one field."""

    at: int
    """Of which hop's table, from 0."""
    field: str
    key: str
    """What the record is found by."""
    before: JSON
    after: JSON
    tool: Tool
    """With the changed table."""

    def to_json(self) -> dict[str, JSON]:
        """For the row of the sibling."""
        plain: dict[str, JSON] = {"hop": self.at + 1, "tool": self.tool.name, "field": self.field}
        return {**plain, "record": self.key, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class PlannedHop:
    """How a hop hangs on earlier answers."""

    question: str
    """With ``{k}`` for the answer of hop k; so are the arguments."""
    depends_on: tuple[int, ...]
    arguments: Mapping[str, JSON]
    answer_path: tuple[str | int, ...]

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> PlannedHop:
        """What the ledger has."""
        path = tuple(row["answer_path"])
        return cls(row["question"], tuple(row["depends_on"]), row["arguments"], path)

    def call(self, tool: Tool, answers: Sequence[str]) -> dict[str, JSON]:
        """The gold call with earlier answers in place."""
        made = resolved(dict(self.arguments), answers, tool.schema.parameters)
        assert isinstance(made, dict)  # noqa: S101 -- an object stays one
        return made


def changes(item: Item, seed: int) -> list[Change]:
    """Changes that may make a sibling, of the last table first; none where no hop has a table."""
    found: list[Change] = []
    for at in reversed(range(len(item.hops))):
        own = [*_of_hop(item.hops[at], at)]
        drawn(seed, item, f"sibling {at}").shuffle(own)
        found += own
    return found[:MOST]


def _of_hop(hop: Hop, at: int) -> Iterator[Change]:
    """The answer's field of the record that the gold call finds, as other records have it."""
    body = hop.tool.body
    records = records_of(body.source) if isinstance(body, Program) else []
    given = {bare(text) for text in texts(dict(hop.gold.arguments))} if hop.gold else set[str]()
    fitting = [
        (number, key, field)
        for number, record in enumerate(records)
        for field, value in record.items()
        if _is_scalar(value) and same(as_text(value), hop.answer)
        for key, other in record.items()
        if key != field and _is_scalar(other) and bare(as_text(other)) in given
    ]
    if len(fitting) != 1 or not isinstance(body, Program):
        return
    [(number, key, field)] = fitting
    before = records[number][field]
    others = {
        as_text(record[field]): record[field]
        for record in records
        if field in record and _is_scalar(record[field]) and record[field] != before
    }
    for after in others.values():
        changed = [*records]
        changed[number] = {**records[number], field: after}
        source = with_records(body.source, changed)
        tool = replace(hop.tool, body=Program(source, body.function))
        yield Change(at, field, as_text(records[number][key]), before, after, tool)


def _is_scalar(value: JSON) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def records_of(source: str) -> list[dict[str, JSON]]:
    """The table that a source begins with; empty where it has none."""
    node = _table(source)
    if node is None:
        return []
    try:
        found = ast.literal_eval(node.value)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return []
    plain = isinstance(found, list) and all(isinstance(one, dict) for one in found)
    return found if plain else []


def with_records(source: str, records: Sequence[Mapping[str, JSON]]) -> str:
    """The source with another table in the place of its own.

    Raises:
        ValueError: it has none.
    """
    node = _table(source)
    if node is None or node.end_lineno is None:
        raise ValueError(f"the source has no {TABLE}")
    lines = source.split("\n")
    text = table_text(records).rstrip("\n")
    return "\n".join([*lines[: node.lineno - 1], text, *lines[node.end_lineno :]])


def _table(source: str) -> ast.Assign | None:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in body:
        if isinstance(node, ast.Assign) and [ast.unparse(one) for one in node.targets] == [TABLE]:
            return node
    return None


def sibling(item: Item, plan: Sequence[PlannedHop], change: Change, answers: Sequence[str]) -> Item:
    """The item with the changed table and what its chain then answers.

    Args:
        item: the item.
        plan: how its hops hang together.
        change: the table.
        answers: of all hops, as the gold calls give them.
    """
    tools = [hop.tool for hop in item.hops]
    tools[change.at] = change.tool
    hops = tuple(
        Hop(
            filled(one.question, answers), answer, tool,
            GoldCall(
                one.call(tool, answers), "written", Reading(Match.VALUE, tuple(one.answer_path))
            ),
        )
        for one, answer, tool in zip(plan, answers, tools, strict=True)
    )  # fmt: skip
    unsafe: list[JSON] = [*hazards(answers[-1], item.question)]
    extra = {**item.extra, "pair": SIBLING, "changed": change.to_json(), "official_unsafe": unsafe}
    return replace(item, id=f"{item.id}~{SIBLING}", answer=answers[-1], hops=hops, extra=extra)
