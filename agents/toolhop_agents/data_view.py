"""Items and tools as tables and pages for a terminal, and as JSON.

Data files are untrusted: nothing in them is read as markup, and control characters are made
visible, so that no file can write escape sequences to a terminal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from toolhop_agents.stacked import StackedTable
from toolhop_agents.terminal import plain, visible
from toolhop_sandbox.base import Program
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import EpisodeAction, GoldCall, Hop, Item, Tool

DEEPEST = 4
"""Depth down to which the properties of nested objects get their own rows."""


def set_table(sets: Sequence[tuple[str, str, bool]]) -> StackedTable:
    """Return a table of data sets: name, description, and whether each is on this machine."""
    table = StackedTable("data set", framed=False)
    table.add_columns("what", prose=True)
    table.add_columns("here")
    for name, about, ready in sets:
        table.add_row(name, about, "yes" if ready else "not fetched")
    return table


def item_table(items: Sequence[Item]) -> StackedTable:
    """Return a table of items, one per row."""
    table = StackedTable("id", framed=False, drop=("answer type",))
    table.add_columns("domain", prose=True)
    table.add_columns("hops", "tools", right=True)
    table.add_columns("answer type", "question", prose=True)
    for item in items:
        table.add_row(
            plain(item.id),
            plain(item.domain),
            str(len(item.hops)),
            str(len(item.tools)),
            plain(item.answer_type),
            plain(item.question),
        )
    return table


def item_row(item: Item) -> dict[str, JSON]:
    """Return one row of `item_table` as JSON."""
    return {
        "id": item.id,
        "domain": item.domain,
        "hops": len(item.hops),
        "tools": list(item.tools),
        "answer_type": item.answer_type,
        "question": item.question,
    }


def item_object(item: Item) -> dict[str, JSON]:
    """Return the complete item as JSON, including the tools' code."""
    return {
        "id": item.id,
        "domain": item.domain,
        "question": item.question,
        "answer": item.answer,
        "answer_type": item.answer_type,
        "previous_answer_type": item.previous_answer_type,
        "digest": item.digest,
        "hops": [_hop_object(hop) for hop in item.hops],
        "gold": dict(item.gold),
        "others": [_tool_object(tool) for tool in item.others],
    }


def _hop_object(hop: Hop) -> JSON:
    return {
        "question": hop.question,
        "answer": hop.answer,
        "gold": _gold_object(hop.gold),
        "tool": _tool_object(hop.tool),
    }


def _tool_object(tool: Tool) -> JSON:
    return {
        "name": tool.name,
        "description": tool.schema.description,
        "parameters": dict(tool.schema.parameters),
        **({"facts": dict(tool.facts)} if tool.facts else {}),
        **_body_object(tool),
    }


def _body_object(tool: Tool) -> dict[str, JSON]:
    match tool.body:
        case Program(source, function):
            return {"function": function, "source": source}
        case body:
            kind = body.value if isinstance(body, EpisodeAction) else type(body).__name__
            return {"function": None, "source": None, "body": kind}


def _gold_object(gold: GoldCall | None) -> JSON:
    return {"arguments": dict(gold.arguments), "source": gold.source} if gold else None


def item_page(item: Item, *, code: bool) -> Iterator[RenderableType]:
    """Yield the parts of an item's page; `code` adds the source of each tool."""
    yield Rule(plain(f"{item.id} · {item.domain}"), align="left")
    yield plain(item.question, "bold")
    kind = f"  ({item.answer_type})" if item.answer_type else ""
    if item.answer:
        yield Text.assemble("answer: ", plain(item.answer, "green"), plain(kind, "dim"))
    for number, hop in enumerate(item.hops, 1):
        yield Text()
        yield Text.assemble(f"hop {number}  ", plain(hop.question, "bold"))
        yield Padding(Group(*_hop_lines(hop)), (0, 0, 0, 2))
    seen: set[str] = set()
    if item.gold:
        yield Text()
        yield Text.assemble("gold: ", plain(json.dumps(item.gold, ensure_ascii=False), "cyan"))
    for tool in (*(hop.tool for hop in item.hops), *item.others):
        if tool.name not in seen:
            seen.add(tool.name)
            yield Text()
            yield from _tool_page(tool, code=code)


def _hop_lines(hop: Hop) -> Iterator[Text]:
    yield Text.assemble("answer: ", plain(hop.answer, "green"))
    if hop.gold is None:
        yield Text.assemble(
            "tool:   ", plain(hop.tool.name), plain("  (no gold call known)", "dim")
        )
        return
    arguments = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in hop.gold.arguments.items()
    )
    call = plain(f"{hop.tool.name}({arguments})", "cyan")
    yield Text.assemble("call:   ", call, plain(f"  ({hop.gold.source})", "dim"))


def _tool_page(tool: Tool, *, code: bool) -> Iterator[RenderableType]:
    yield Rule(plain(tool.name), align="left")
    yield plain(tool.schema.description)
    table = StackedTable("parameter", framed=False)
    table.add_columns("type", "about", prose=True)
    for name, kind, about in parameter_rows(tool.schema.parameters):
        table.add_row(plain(name, "cyan"), plain(kind), plain(about))
    yield table
    if code and isinstance(tool.body, Program):
        yield Syntax(visible(tool.body.source), "python", word_wrap=True)


def parameter_rows(
    schema: Mapping[str, JSON], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, str, str]]:
    """Yield the name, type and description of each parameter.

    Required names end with ``*``. Nested names contain dots, and ``[]`` follows the name of a list.
    """
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or depth >= DEEPEST:
        return
    needed = required if isinstance(required, list) else []
    for name, value in properties.items():
        inner = value if isinstance(value, dict) else {}
        mark = "*" if name in needed else ""
        yield f"{prefix}{name}{mark}", _kind(inner), _about(inner)
        elements = inner.get("items")
        if isinstance(elements, dict):
            yield from parameter_rows(elements, f"{prefix}{name}[].", depth + 1)
        yield from parameter_rows(inner, f"{prefix}{name}.", depth + 1)


def _kind(schema: Mapping[str, JSON]) -> str:
    kind = schema.get("type", "any")
    text = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
    elements = schema.get("items")
    return f"{text} of {_kind(elements)}" if isinstance(elements, dict) else text


def _about(schema: Mapping[str, JSON]) -> str:
    parts = [str(schema.get("description", ""))]
    elements = schema.get("items")
    if isinstance(elements, dict) and "properties" not in elements:
        parts.append(_about(elements))
    for key, word in (("enum", "one of"), ("default", "default")):
        if key in schema:
            parts.append(f"{word} {json.dumps(schema[key], ensure_ascii=False)}")
    limits = [f"{key} {schema[key]}" for key in _LIMITS if key in schema]
    return ". ".join(part.rstrip(".") for part in (*parts, *limits) if part)


_LIMITS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
    "format",
)
