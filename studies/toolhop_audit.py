"""Writes studies/toolhop-audit.md, the page on what fails in ToolHop, from a report as JSON.

    toolhop certify --data DATA --out C.jsonl
    toolhop check --data DATA --certificates C.jsonl --json > REPORT
    python -m studies.toolhop_audit REPORT > studies/toolhop-audit.md

The page names items, tools, parameters and values that were drawn; it copies neither source text
nor messages, nor texts longer than a letter, which may come from the data.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

LISTED = 12
"""Tools of a class that are named; the rest are counted."""
MEANS = {
    "raises": "The schema allows the input, and the code stops with an exception.",
    "no result in time": "The schema allows the input, and the call does not end in time.",
    "out of memory": "The schema allows the input, and the call takes all its memory.",
    "returns NaN or Infinity": "The result holds a number that JSON has no word for.",
    "returns": "The result holds what JSON has no form for.",
    "depends on the hash seed": "The result follows the order of a set, which Python shuffles.",
    "order of keys": "The members of an object come in an order that Python shuffles.",
    "takes invalid input": "Input that the schema excludes gets an ordinary result.",
    "schema and signature differ": "Calls that follow the schema do not suit the function.",
}
"""What a class means, by the start of its name, where that does not say it."""


def page(report: dict[str, Any]) -> Iterator[str]:
    """The lines of the page."""
    tools, counts = report["tools"], report["properties"]
    flags = f"--examples {report['examples']} --seed {report['seed']}"
    if report["certificates"]:
        flags += f" --certificates {_plain(PurePath(report['certificates']).name)}"
    name = _plain(PurePath(report["data"]).name)
    failing = sum(any("found" in one for one in tool["verdicts"].values()) for tool in tools)
    examples = sum(count.get("executed", 0) for count in counts.values())
    yield f"# What fails in {name}\n"
    yield f"Written by studies/toolhop_audit.py from `toolhop check --data {name} {flags} --json`."
    yield "[properties.md](../docs/properties.md) explains each property and how it is judged.\n"
    yield (
        f"{len(tools)} tools, {examples:,} executed examples: {failing} tools fail at least one "
        f"property, {len(tools) - failing} hold all that apply to them.\n"
    )
    yield "| what was found of a tool | tools |\n|---|---:|"
    for name, count in report["classes"].items():
        yield f"| {name} | {count} |"
    yield ""
    yield "## By property\n"
    yield "| property | tools hold | tools fail | not applicable | examples |"
    yield "|---|---:|---:|---:|---:|"
    for property_, count in counts.items():
        cells = [count.get(key, 0) for key in ("holds", "fails", "not applicable", "executed")]
        yield f"| {property_} | {' | '.join(f'{cell:,}' for cell in cells)} |"
    yield "\n## By class\n"
    yield "A tool counts once in each class that it is in, and may be in several."
    for property_, count in counts.items():
        classes = _classes(tools, property_)
        if classes:
            yield f"\n### {property_}\n\n{count['says']}"
        for kind, members in sorted(classes.items(), key=lambda one: (-len(one[1]), one[0])):
            yield from _class(kind, members)
    yield from _remarks(tools)


def _remarks(tools: list[Any]) -> Iterator[str]:
    """What is not a failure and worth knowing, by class."""
    found = _classes(tools, "valid-input", "remarks")
    if not found:
        return
    yield "\n## No failures\n"
    yield "What tools say of valid input in words of their own, and warnings."
    for kind, members in sorted(found.items(), key=lambda one: (-len(one[1]), one[0])):
        yield from _class(kind, members)


def _classes(
    tools: list[Any], property_: str, key: str = "found"
) -> dict[str, list[tuple[str, Any]]]:
    """By class the tools that are in it, each with its counter-example."""
    classes: dict[str, list[tuple[str, Any]]] = {}
    for tool in tools:
        place = f"item {_plain(tool['item'])} `{_plain(tool['tool'])}`"
        for found in tool["verdicts"].get(property_, {}).get(key, ()):
            classes.setdefault(found["kind"], []).append((place, found))
    return classes


def _class(kind: str, members: list[tuple[str, Any]]) -> Iterator[str]:
    means = next((text for start, text in MEANS.items() if kind.startswith(start)), "")
    yield f"\n**{kind}** (tools: {len(members)}). {means}".rstrip()
    # A shrunk example first, and of those the one with the least in it.
    place, found = min(members, key=lambda one: (not one[1]["shrunk"], len(str(one[1]))))
    given = [f"`{_plain(k)}` = {_value(v)}" for k, v in (found["arguments"] or {}).items()]
    called = "called with " + ", ".join(given) if given else "seen without arguments"
    yield f"\n- Example: {place}, {called}{' after other calls' if found['earlier'] else ''}."
    more = f", and {len(members) - LISTED} more" if len(members) > LISTED else ""
    yield f"- Tools: {', '.join(place for place, _ in members[:LISTED])}{more}."


def _plain(name: str) -> str:
    """A name from the data without what Markdown, or a terminal, would take for a sign."""
    return re.sub(r"[^\w .:@-]", "?", name)[:80]


def _value(value: object) -> str:
    """A value without text that may come from the data."""
    match value:
        case str():
            short = len(value) < 2 and value.isascii() and value.isprintable()
            return json.dumps(value) if short or not value else f"a text of {len(value)} letters"
        case list():
            parts = dict.fromkeys(_value(part) for part in value)
            return f"[{', '.join(parts)}]" if len(value) < 4 else f"a list of {len(value)}"
        case dict():
            return f"an object of {len(value)} keys" if value else "{}"
        case float():
            return f"{value:.6g}"
        case _:
            return json.dumps(value)


if __name__ == "__main__":
    sys.stdout.write("\n".join(page(json.loads(Path(sys.argv[1]).read_text("utf-8")))) + "\n")
