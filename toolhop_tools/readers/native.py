"""Convert items of any benchmark to JSON rows and back: the format in which a run stores its items.

ToolHop's items use the official row format (`toolhop_tools.benchmarks.toolhop.reader`), which every
tool that supports ToolHop reads. Items of other benchmarks use this format, which contains every
field of `Item`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON, OUTCOME
from toolhop_tools import regular
from toolhop_tools.errors import DataError, why
from toolhop_tools.model import (
    ActionChoice,
    Body,
    DataSet,
    Described,
    EpisodeAction,
    Flaky,
    GoldCall,
    Hop,
    Item,
    RecordedTable,
    Simulated,
    Tool,
    ToolSchema,
)
from toolhop_tools.readers.datafile import parse_rows, read_bytes
from toolhop_tools.reading import reading_from_json, reading_to_json

MARK = "toolhop_item"
"""Field that identifies these rows; its value is the format version."""
FORMAT = 1
_ITEMS = TypeAdapter(
    tuple[Item, ...], config=ConfigDict(revalidate_instances="always", strict=True)
)


def to_row(item: Item) -> dict[str, JSON]:
    """Convert an item to a row."""
    tools: list[JSON] = [_tool(tool) for tool in item.all_tools.values()]
    others: list[JSON] = [tool.name for tool in item.others]
    return {
        MARK: FORMAT,
        "benchmark": item.benchmark,
        "id": item.id,
        "question": item.question,
        "answer": item.answer,
        "gold": dict(item.gold),
        "tools": tools,
        "hops": [_hop(hop) for hop in item.hops],
        "others": others,
        "order": list(item.order),
        "domain": item.domain,
        "answer_type": item.answer_type,
        "previous_answer_type": item.previous_answer_type,
        "extra": dict(item.extra),
        "wordings": dict(item.wordings),
    }


def _tool(tool: Tool) -> JSON:
    schema = tool.schema
    shown = {"name": schema.name, "description": schema.description}
    return {**shown, "parameters": dict(schema.parameters), "body": _body(tool.body)}


def _body(body: Body) -> JSON:
    match body:
        case Program(source, function):
            return {"kind": "program", "source": source, "function": function}
        case RecordedTable(results, default, instruction, made):
            rows = {key: OUTCOME.dump_python(one, mode="json") for key, one in results.items()}
            other = OUTCOME.dump_python(default, mode="json")
            more: dict[str, JSON] = {"instruction": instruction, "made": made}
            return {"kind": "table", "results": rows, "default": other, **more}
        case Simulated(instruction):
            return {"kind": "simulated", "instruction": instruction}
        case Described(facts):
            return {"kind": "described", "facts": dict(facts)}
        case EpisodeAction():
            return {"kind": "action", "action": body.value}
        case ActionChoice(argument, actions):
            chosen: JSON = {value: one.value for value, one in actions.items()}
            return {"kind": "choice", "argument": argument, "actions": chosen}
        case Flaky(program, failures, error, first):
            fails: dict[str, JSON] = {"failures": failures, "error": error}
            fails |= {"first": _body(first)} if first else {}
            return {"kind": "flaky", "program": _body(program), **fails}


def _hop(hop: Hop) -> JSON:
    row: dict[str, JSON] = {"question": hop.question, "answer": hop.answer, "tool": hop.tool.name}
    if hop.gold is None:
        return {**row, "gold": None}
    row |= {"gold": dict(hop.gold.arguments), "source": hop.gold.source}
    reading = hop.gold.reading
    return row if reading is None else {**row, "reading": reading_to_json(reading)}


def _gold(row: Mapping[str, Any]) -> GoldCall | None:
    if row["gold"] is None:
        return None
    reading = reading_from_json(row["reading"]) if "reading" in row else None
    # Older rows have neither `source` nor `reading`.
    return GoldCall(row["gold"], row.get("source", "written"), reading)


def from_rows(rows: Iterable[JSON], *, name: str, origin: str) -> DataSet:
    """Return the items of rows written by `to_row`.

    Raises:
        DataError: a row does not have this format, or has a newer version; names the row.
    """
    items: list[Item] = []
    for number, row in enumerate(rows, start=1):
        found = row.get(MARK) if isinstance(row, dict) else None
        if not isinstance(row, dict) or found != FORMAT:
            raise DataError(
                f"row {number} has {MARK} {found!r}; this version reads {FORMAT}",
                origin=origin,
            )
        try:
            items += _ITEMS.validate_python((_item(row),))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"row {number} is not an item: {type(error).__name__} at {why(error)}"
            raise DataError(reason, origin=origin) from error
    return DataSet(name, origin, tuple(items))


def _item(row: Mapping[str, Any]) -> Item:
    tools = {one["name"]: _read_tool(one) for one in row["tools"]}
    if unknown := [name for name in row["order"] if name not in tools]:
        raise ValueError(f"order, which names {unknown[0]!r} and no such tool is there")
    hops = tuple(
        Hop(one["question"], one["answer"], tools[one["tool"]], _gold(one)) for one in row["hops"]
    )
    return Item(
        id=row["id"],
        question=row["question"],
        answer=row["answer"],
        hops=hops,
        domain=row["domain"],
        answer_type=row["answer_type"],
        previous_answer_type=row.get("previous_answer_type", ""),
        extra=row["extra"],
        others=tuple(tools[name] for name in row["others"]),
        order=tuple(row["order"]),
        benchmark=row["benchmark"],
        wordings=row.get("wordings", {}),
        gold=row["gold"],
    )


def _read_tool(one: Mapping[str, Any]) -> Tool:
    return Tool(ToolSchema(one["name"], one["description"], one["parameters"]), _read(one["body"]))


def _read(body: Mapping[str, Any]) -> Body:
    match body["kind"]:
        case "program":
            return _program(body)
        case "table":
            rows = {key: OUTCOME.validate_python(one) for key, one in body["results"].items()}
            default = OUTCOME.validate_python(body["default"])
            more = body.get("instruction", ""), body.get("made", False)
            return RecordedTable(rows, default, *more)
        case "simulated":
            return Simulated(body["instruction"])
        case "described":
            return Described(body["facts"])
        case "action":
            return EpisodeAction(body["action"])
        case "choice":
            chosen = {value: EpisodeAction(one) for value, one in body["actions"].items()}
            return ActionChoice(body["argument"], chosen)
        case "flaky":
            program, first = _program(body["program"]), body.get("first")
            first = _program(first) if first else None
            return Flaky(program, body["failures"], body["error"], first)
        case other:
            raise ValueError(f"a body of kind {other!r}")


def _program(body: Mapping[str, Any]) -> Program:
    return Program(body["source"], body["function"])


def is_native_file(path: Path) -> bool:
    """Whether a file's first line is a row in this format."""
    with regular.reading(path, below=0) as file:
        first = file.readline(65_536)
    return first.startswith(b'{"' + MARK.encode() + b'"')


def read_file(path: Path) -> DataSet:
    """Read the items of a JSON Lines file.

    Raises:
        DataError: a line is not a JSON object, or not an item.
    """
    rows = parse_rows(read_bytes(path), lines=True, origin=str(path))
    return from_rows([row for _, row in rows], name=path.stem, origin=str(path))
