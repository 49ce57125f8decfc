"""A card as a value, and as Markdown with the head in YAML that data hubs read. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolhop_agents.terminal import visible

NOT_KNOWN = "not known"
HUB_LICENCES = frozenset(
    {
        "apache-2.0", "mit", "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0",
        "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0",
        "odbl", "odc-by", "pddl", "gpl-3.0", "lgpl-3.0", "agpl-3.0", "bsd-3-clause", "openrail",
        "cdla-permissive-1.0", "cdla-permissive-2.0", "cdla-sharing-1.0",
    }
)  # fmt: skip
"""Names that the Hugging Face hub has for licences."""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands below it, in order; texts are Markdown."""

    title: str
    parts: tuple[str | Table, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of a data set."""

    name: str
    summary: str
    items: int
    licences: tuple[str, ...]
    """As the data has them; none where it names none."""
    tags: tuple[str, ...]
    files: Mapping[str, str]
    """By configuration: the file, as it is called beside the card."""
    sections: tuple[Section, ...]


def markdown(card: Card) -> str:
    """The whole file."""
    parts = [*_head(card), "", f"# {plain(card.name)}", "", card.summary, ""]
    for section in card.sections:
        parts += [f"## {section.title}", ""]
        for part in section.parts:
            parts += [*(_table(part) if isinstance(part, Table) else [part]), ""]
    return "\n".join(parts)


def _head(card: Card) -> Iterator[str]:
    # Texts are written as JSON, which YAML reads as the same texts whatever is in them.
    yield "---"
    yield f"pretty_name: {json.dumps(visible(card.name))}"
    yield from licence_lines(card.licences)
    size = next((name for least, name in SIZES if card.items < least), "n>1M")
    yield f'size_categories: ["{size}"]'
    yield 'task_categories: ["question-answering"]'
    yield f"tags: {json.dumps([*card.tags])}"
    if card.files:
        yield "configs:"
        for name, file in card.files.items():
            yield f"  - config_name: {json.dumps(name)}"
            yield f"    data_files: {json.dumps(file)}"
    yield "---"


def licence_lines(licences: Sequence[str]) -> Iterator[str]:
    """The licence in the names of the hub, as far as it has one."""
    names = [one.strip().lower().replace(" ", "-") for one in licences]
    if not names or names == ["own"]:
        yield "license: unknown"
    elif all(name in HUB_LICENCES for name in names):
        yield f"license: {json.dumps(names[0] if len(names) == 1 else names)}"
    else:
        yield "license: other"
        yield f"license_name: {json.dumps(', '.join(map(visible, licences)))}"


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(map(plain, table.head))} |"
    yield f"|{'|'.join(['---'] * len(table.head))}|"
    for row in table.rows:
        yield f"| {' | '.join(map(plain, row))} |"


_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|!~])")


def plain(text: str) -> str:
    """Foreign text in Markdown: on one line, and nothing in it is markup."""
    line = " ".join(visible(text).split())
    return _MARKUP.sub(lambda found: "&lt;" if found[1] == "<" else f"\\{found[1]}", line)
