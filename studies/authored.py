"""Items by people who had not read the product: one JSON object a line, with what is wrong."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.blind.chain import Chain, ChainHop, Sibling
from toolhop_tools.blind.plan import Plan, Step
from toolhop_tools.blind.votes import Ballot
from toolhop_tools.construct.replies import LookedUp, Pair, Pairs, Records
from toolhop_tools.construct.text import resolved
from toolhop_tools.model import Tool, ToolSchema
from toolhop_tools.reading import Match, Reading

SORTS: Mapping[str, str] = {
    "right": "right items",
    "A": "the tool is not as its document",
    "B": "the question is not as its chain",
    "C": "nobody can tell",
    "D": "something is missing or ignored",
}
"""What an author says of an item."""


@dataclass(frozen=True)
class Authored:
    """An item with its author's verdict."""

    row: Mapping[str, Any]
    """The line as it was written."""
    author_ballot: Ballot | None = None
    """The author's own plan, once it was run."""

    @property
    def id(self) -> str:
        """The item's name."""
        return str(self.row["id"])

    @property
    def sort(self) -> str:
        """A key of `SORTS`."""
        return str(self.row["sort"])

    @property
    def fault(self) -> str:
        """What is wrong, in a sentence; empty for a right item."""
        return str(self.row["fault"])

    @property
    def question(self) -> str:
        """The item's question."""
        return str(self.row["question"])

    @property
    def tools(self) -> list[Tool]:
        """The tools of all hops, each once."""
        tools: dict[str, Tool] = {}
        for hop in self.row["hops"]:
            own = hop["tool"]
            schema = ToolSchema(own["name"], own["description"], own["parameters"])
            tools[own["name"]] = Tool(schema, Program(hop["code"], own["name"]))
        return [*tools.values()]

    @property
    def chain(self) -> Chain:
        """The gold."""
        hops = tuple(
            ChainHop(
                number,
                hop["tool"]["name"],
                hop["answer"],
                Reading(Match.VALUE, tuple(hop["answer_path"])),
            )
            for number, hop in enumerate(self.row["hops"], 1)
        )
        return Chain(str(self.row["answer"]), hops)

    @property
    def gold_plan(self) -> Plan:
        """The chain's calls."""
        return _plan({**hop, "tool": hop["tool"]["name"]} for hop in self.row["hops"])

    @property
    def author_plan(self) -> Plan:
        """The calls that the author says a careful reader makes, or that there are none."""
        if self.row["right_plan"]:
            return _plan(iter(self.row["right_plan"]))
        return Plan(ambiguous=self.fault or "it cannot be told")

    @property
    def disputed_hop(self) -> Mapping[str, Any] | None:
        """The hop whose tool is not as its document, with the right function in ``right_code``."""
        return next((hop for hop in self.row["hops"] if hop["right_code"]), None)

    def facts_of(self, hop: Mapping[str, Any]) -> Records | Pairs:
        """A hop's table, or its gold call with its result, as a constructor would reply them."""
        answers = [str(earlier["answer"]) for earlier in self.row["hops"]]
        made = resolved(hop["arguments"], answers, hop["tool"]["parameters"])
        call = dict(made) if isinstance(made, dict) else {}
        records = records_of(hop["code"])
        fields = {
            name: field
            for name, value in call.items()
            for field in (records[0] if records else ())
            if any(record.get(field) == value for record in records)
        }
        if not fields:
            return Pairs(pairs=[Pair(arguments=call, result=None)])
        fixed = {name: value for name, value in call.items() if name not in fields}
        lookup = LookedUp(parameters=fields, fixed=fixed, answer=next(iter(records[0])))
        return Records.model_construct(records=records, lookup=lookup)

    def siblings(self) -> Iterator[Sibling]:
        """Trials of siblings: other records in the place of those that the chain begins with.

        Their answers are the item's own until the chain is run.
        """
        answers = tuple(str(hop["answer"]) for hop in self.row["hops"])
        for hop, step in zip(self.row["hops"], self.gold_plan.steps, strict=True):
            if step.takes:
                continue
            for record in records_of(hop["code"]):
                others = _others(step.arguments, record, records_of(hop["code"]))
                if others:
                    yield Sibling(others, answers)


def _plan(rows: Iterator[Mapping[str, Any]]) -> Plan:
    steps = [
        Step(tool=row["tool"], arguments=row["arguments"], answer_path=row["answer_path"])
        for row in rows
    ]
    return Plan(steps=steps)


def records_of(code: str) -> list[dict[str, JSON]]:
    """The table that a source assigns to RECORDS; none of a tool that computes."""
    for node in ast.parse(code).body:
        names = [target.id for target in getattr(node, "targets", ()) if hasattr(target, "id")]
        if names == ["RECORDS"] and isinstance(node, ast.Assign):
            rows: list[dict[str, JSON]] = ast.literal_eval(node.value)
            return rows
    return []


def _others(
    arguments: Mapping[str, JSON],
    record: Mapping[str, JSON],
    records: list[dict[str, JSON]],
) -> dict[str, str]:
    """A record's values in the place of those that find the item's own record."""
    replaced: dict[str, str] = {}
    for value in arguments.values():
        fields = [name for name in record if any(row.get(name) == value for row in records)]
        names = isinstance(value, str | int) and not isinstance(value, bool)
        if names and fields and record[fields[0]] != value:
            replaced[str(value)] = str(record[fields[0]])
    return replaced


def load_items(path: Path) -> list[Authored]:
    """The items of a file.

    Raises:
        OSError: it cannot be read.
        ValueError: a line is not such an item; the message has its number.
    """
    items = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            item = Authored(json.loads(line))
            known = item.sort in SORTS and item.id and item.question and item.chain
            _ = item.gold_plan, item.author_plan, item.tools
        except (ValueError, KeyError, TypeError, SyntaxError) as error:
            raise ValueError(f"{path}, line {number}: {error!r}") from error
        if not known:
            raise ValueError(f"{path}, line {number}: sort {item.sort!r} is none of {[*SORTS]}")
        items.append(item)
    return items


def with_ballot(item: Authored, ballot: Ballot) -> Authored:
    """The item with its author's own plan as it was run."""
    return replace(item, author_ballot=ballot)
