"""Siblings of an item: a record of a table is changed, and with it the answer. Pure.

The question and the tools' schemas stay the same: a model that knows the item's answer by heart and
calls no tool is wrong about the sibling.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.accept import hazards
from toolhop_tools.construct.facts import TABLE, table
from toolhop_tools.construct.replies import WrittenHop
from toolhop_tools.construct.text import filled, same, texts
from toolhop_tools.model import GoldCall, Hop, Item, Tool
from toolhop_tools.perturb.change import drawn
from toolhop_tools.reading import Match, Reading
from toolhop_tools.words import as_text, bare

SIBLING = "sibling"
MOST = 12
"""Maximum number of changes tried for an item."""


@dataclass(frozen=True, slots=True)
class Change:
    """A record with a new value in one field."""

    at: int
    """Index of the hop whose table is changed."""
    field: str
    key: str
    """Key of the record."""
    before: JSON
    after: JSON
    tool: Tool
    """The tool with the changed table."""

    def tools(self, item: Item) -> list[Tool]:
        """Return the tool of each hop, with the changed tool in place."""
        return [self.tool if at == self.at else hop.tool for at, hop in enumerate(item.hops)]


def changes(item: Item, seed: int) -> list[Change]:
    """Return changes that could make a sibling, last table first; none if no hop has a table."""
    listed: list[Change] = []
    for at in reversed(range(len(item.hops))):
        own = [*_of_hop(item.hops[at], at)]
        drawn(seed, item, f"sibling {at}").shuffle(own)
        listed += own
    return listed[:MOST]


def _of_hop(hop: Hop, at: int) -> Iterator[Change]:
    """Yield changes that replace the answer in the gold call's record by other records' answers."""
    body = hop.tool.body
    if hop.gold is None or not isinstance(body, Program):
        return
    records = records_of(body.source)
    given = {bare(text) for text in texts(dict(hop.gold.arguments))}
    answering = [
        (number, key, field)
        for number, record in enumerate(records)
        for field, value in record.items()
        if _is_scalar(value) and same(as_text(value), hop.answer)
        for key, other in record.items()
        if key != field and _is_scalar(other) and bare(as_text(other)) in given
    ]
    if len(answering) != 1:
        return
    [(number, key, field)] = answering
    record = records[number]
    values = (other[field] for other in records if field in other and _is_scalar(other[field]))
    for after in {as_text(v): v for v in values if v != record[field]}.values():
        changed = [*records[:number], {**record, field: after}, *records[number + 1 :]]
        tool = replace(hop.tool, body=Program(with_records(body.source, changed), body.function))
        yield Change(at, field, as_text(record[key]), record[field], after, tool)


def _is_scalar(value: JSON) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def records_of(source: str) -> list[dict[str, JSON]]:
    """Return the table of a source; empty if there is no readable table."""
    node = _table(source)
    try:
        records = ast.literal_eval(node.value) if node else []
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return []
    plain = isinstance(records, list) and all(isinstance(record, dict) for record in records)
    return records if plain else []


def with_records(source: str, records: Sequence[Mapping[str, JSON]]) -> str:
    """Return the source with its table replaced.

    Raises:
        ValueError: the source has no table.
    """
    node = _table(source)
    if node is None or node.end_lineno is None:
        raise ValueError(f"the source has no {TABLE}")
    lines = source.split("\n")
    text = table(records).rstrip("\n")
    return "\n".join([*lines[: node.lineno - 1], text, *lines[node.end_lineno :]])


def _table(source: str) -> ast.Assign | None:
    """Return the statement that assigns the table, or None if there is none."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    made = (node for node in body if isinstance(node, ast.Assign))
    return next((node for node in made if [*map(ast.unparse, node.targets)] == [TABLE]), None)


def sibling(item: Item, plan: Sequence[WrittenHop], change: Change, answers: Sequence[str]) -> Item:
    """Return the item with a changed table and the results of its gold calls.

    `plan` states how its hops depend on each other; `answers` has the new answer of every hop.
    """
    hops = []
    for own, answer, tool in zip(plan, answers, change.tools(item), strict=True):
        reading = Reading(Match.VALUE, tuple(own.answer_path))
        gold = GoldCall(own.call(tool.schema.parameters, answers), "written", reading)
        hops.append(Hop(filled(own.question, answers), answer, tool, gold))
    changed: JSON = {
        "hop": change.at + 1, "tool": change.tool.name, "field": change.field,
        "record": change.key, "before": change.before, "after": change.after,
    }  # fmt: skip
    unsafe: list[JSON] = [*hazards(answers[-1], item.question)]
    return replace(
        item, id=f"{item.id}~{SIBLING}", answer=answers[-1], hops=tuple(hops),
        extra={**item.extra, "pair": SIBLING, "changed": changed, "official_unsafe": unsafe},
    )  # fmt: skip
