"""Sections of text and tables; a data card as Markdown with the head that hubs read. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from toolhop_agents.export.tables import hub_licence
from toolhop_agents.terminal import visible
from toolhop_sandbox.outcome import JSON

NOT_KNOWN = "not known"
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Text in a block of its own, shown as it is."""

    text: str
    title: str = ""
    """Where given, the block is folded under it on pages that can."""


Part: TypeAlias = str | Table | Code


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it, in order. A card's texts are Markdown."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of a data set."""

    name: str
    summary: str
    items: int
    licences: tuple[str, ...]
    """As the data has them; empty where it names none."""
    tags: tuple[str, ...]
    files: Mapping[str, str]
    """By configuration: the name of the file beside the card."""
    sections: tuple[Section, ...]


def markdown(card: Card) -> str:
    """The whole file."""
    size = next((name for least, name in SIZES if card.items < least), "n>1M")
    head: dict[str, JSON] = {"pretty_name": card.name, **hub_licence(card.licences)}
    head |= {"size_categories": [size], "task_categories": ["question-answering"]}
    head["tags"] = [*card.tags]
    if card.files:
        head["configs"] = [
            {"config_name": name, "data_files": file} for name, file in card.files.items()
        ]
    # YAML reads JSON as it is, whatever stands in its texts.
    rows = [f"{key}: {visible(json.dumps(v, ensure_ascii=False))}" for key, v in head.items()]
    parts = ["---", *rows, "---", "", f"# {plain(card.name)}", "", card.summary, ""]
    for section in card.sections:
        parts += [f"## {section.title}", ""]
        for part in section.parts:
            parts += [*_lines(part), ""]
    return "\n".join(parts)


def _lines(part: Part) -> Iterator[str]:
    match part:
        case Table(head, rows):
            yield f"| {' | '.join(map(plain, head))} |"
            yield f"|{'|'.join(['---'] * len(head))}|"
            yield from (f"| {' | '.join(map(plain, row))} |" for row in rows)
        case Code(text):
            yield from (f"    {line}" for line in visible(text).splitlines())
        case str():
            yield part


_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|!~])")


def plain(text: str) -> str:
    """Foreign text in Markdown: on one line, and nothing in it is markup."""
    line = " ".join(visible(text).split())
    return _MARKUP.sub(lambda found: "&lt;" if found[1] == "<" else f"\\{found[1]}", line)
