"""Sections of text and tables, and a data card as Markdown with the YAML head that hubs read.
Pure.
"""

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
    """Rows below a header."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A block of preformatted text."""

    text: str
    title: str = ""
    """Title under which the block is folded on pages that support it; empty for none."""


Part: TypeAlias = str | Table | Code


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its parts in order. A card's texts are Markdown."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A data set's card."""

    name: str
    summary: str
    items: int
    licences: tuple[str, ...]
    """Licences named in the data; empty if it names none."""
    tags: tuple[str, ...]
    files: Mapping[str, str]
    """Names of the files beside the card, by configuration."""
    sections: tuple[Section, ...]


def markdown(card: Card) -> str:
    """Return the whole file."""
    size = next((name for least, name in SIZES if card.items < least), "n>1M")
    head: dict[str, JSON] = {"pretty_name": card.name, **hub_licence(card.licences)}
    head |= {"size_categories": [size], "task_categories": ["question-answering"]}
    head["tags"] = [*card.tags]
    if card.files:
        head["configs"] = [
            {"config_name": name, "data_files": file} for name, file in card.files.items()
        ]
    # JSON is valid YAML, whatever its texts contain.
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
    """Put foreign text on one line, and escape its Markdown."""
    line = " ".join(visible(text).split())
    return _MARKUP.sub(lambda found: "&lt;" if found[1] == "<" else f"\\{found[1]}", line)
