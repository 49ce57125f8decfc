"""Items and tools as values: what every reader of a data set yields.

The shape follows ToolHop (paper section 3; data file `ToolHop.json`): an item is a question
whose answer is reached over hops; a hop is a sub-question with a gold sub-answer and the tool
that was made for it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sandbox.base import Program
from sandbox.outcome import JSON
from toolhop_tools.reading import Reading


@dataclass(frozen=True, slots=True)
class ToolDocument:
    """A tool as a model is shown it."""

    name: str
    """Unique within the item; a second tool of one name is called ``name_2``."""
    description: str
    parameters: Mapping[str, JSON]
    """JSON Schema of the arguments object."""

    def to_openai(self) -> dict[str, JSON]:
        """The entry of an OpenAI request's ``tools`` list."""
        function: dict[str, JSON] = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Tool:
    """A document and the code behind it."""

    document: ToolDocument
    program: Program

    @property
    def name(self) -> str:
        """The name that a model calls it by."""
        return self.document.name


@dataclass(frozen=True, slots=True)
class GoldCall:
    """Arguments that make a hop's tool return the hop's answer."""

    arguments: Mapping[str, JSON]
    source: str
    """Where the call came from: ``written`` (by the data set's author), ``example`` (found in
    the tool's source), or the name of another search that found it."""
    reading: Reading | None = None
    """Where in the call's result the answer stands, where that is known."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One sub-question of an item."""

    question: str
    answer: str
    tool: Tool
    gold: GoldCall | None = None


@dataclass(frozen=True)
class Item:
    """A question, its answer, and the hops that lead there, in order."""

    id: str
    question: str
    answer: str
    hops: tuple[Hop, ...]
    domain: str
    answer_type: str
    previous_answer_type: str = ""
    """ToolHop's label of the answer before the last reasoning step; empty where unknown."""
    extra: Mapping[str, JSON] = field(default_factory=dict)
    """Fields of the data row that the product does not use, kept for export."""
    others: tuple[Tool, ...] = ()
    """Tools on offer that belong to no hop; see `toolhop_tools.presentation`."""
    order: tuple[str, ...] = ()
    """Names of all tools in the order in which they are shown; empty for hop order."""

    @cached_property
    def tools(self) -> dict[str, Tool]:
        """The tools on offer by the name that a model calls them by, in the order shown."""
        tools = {hop.tool.name: hop.tool for hop in self.hops}
        tools |= {tool.name: tool for tool in self.others}
        return {name: tools[name] for name in self.order or tools}

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything that can change an episode or its score."""
        parts: list[JSON] = [self.id, self.question, self.answer]
        parts.extend([hop.question, hop.answer, *_parts(hop.tool)] for hop in self.hops)
        if self.others or self.order:
            parts.append([_parts(tool) for tool in self.others])
            parts.append(list(self.order))
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _parts(tool: Tool) -> list[JSON]:
    document, program = tool.document, tool.program
    shown: list[JSON] = [document.name, document.description, dict(document.parameters)]
    return [*shown, program.source, program.function]


@dataclass(frozen=True)
class DataSet:
    """Items in file order, and where they came from."""

    name: str
    origin: str
    """The file or package that was read."""
    items: tuple[Item, ...]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the items' digests, in order."""
        return hashlib.sha256("\n".join(item.digest for item in self.items).encode()).hexdigest()

    @cached_property
    def by_id(self) -> dict[str, Item]:
        """The items by id."""
        return {item.id: item for item in self.items}
