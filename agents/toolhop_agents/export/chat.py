"""Episodes as chats for fine-tuning: one JSON line each, with `messages` and `tools`.

The schema is that of OpenAI's chat completions, which trainers accept: an assistant message has
`tool_calls`, and a tool message answers one call by its id. In the text format, calls and feedback
are part of the message texts, as written and shown, and there are no `tools`.

Published items list their tools in hop order. A model trained on that order learns to read the plan
from the list, so the tools are shuffled by default.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from toolhop_agents.call_formats import shown
from toolhop_agents.export.episodes import Exported
from toolhop_agents.export.files import atomic
from toolhop_agents.export.tables import Written
from toolhop_agents.models.wire_sending import plain_message
from toolhop_agents.prompts import tool_lines
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    UserMessage,
)
from toolhop_env.reading import CallFormat
from toolhop_env.trace import Started
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item, ToolSchema
from toolhop_tools.perturb.order import tool_order
from toolhop_tools.scenarios.label import family_of


class ToolOrder(StrEnum):
    """Order of the tools in a chat."""

    SHUFFLED = "shuffled"
    PLAYED = "played"
    """As in the run: hop order for published items, unless the run changed the order."""


class Arguments(StrEnum):
    """Encoding of a call's arguments."""

    OBJECT = "object"
    """JSON objects, as required by TRL and the chat templates of Hugging Face models."""
    STRING = "string"
    """Strings of JSON, as required by OpenAI's and Azure's fine-tuning."""


@dataclass(frozen=True, slots=True)
class ChatStyle:
    """Options for the exported chats."""

    order: ToolOrder = ToolOrder.SHUFFLED
    arguments: Arguments = Arguments.OBJECT
    include_wrong: bool = False
    """Whether to include wrong episodes; errored ones are never included."""


def write_chats(
    episodes: Iterable[tuple[Exported, Item | None]], path: Path, style: ChatStyle
) -> Written:
    """Write a line for each counted episode that is right.

    Args:
        episodes: attempts, each with its item for the tool schemas.
        path: the file, which appears only once it is complete.
        style: options for the chats.

    Raises:
        ExportError: the file cannot be written.
    """
    lines = 0
    # Lone surrogates in decoded arguments are written as the escapes that they were.
    with (
        atomic(path) as beside,
        beside.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        for one, item in episodes:
            if one.counts and one.attempt.score and (style.include_wrong or right(one)):
                file.write(json.dumps(chat(one, item, style), ensure_ascii=False) + "\n")
                lines += 1
    return Written((path,), {"chats": lines})


def right(one: Exported) -> bool:
    """Whether the episode has full credit on the benchmark's leading measure."""
    score = one.attempt.score
    parts = None if score is None else one.benchmark.lead.of(score)
    return parts is not None and parts[0] >= parts[1] > 0


SPLIT_OF = 10
"""One family in this many is held out for validation."""


def split(cluster: str, item: Item | None) -> str:
    """Return the split given by the data, else ``train`` or ``validation``.

    About a tenth of the families are for validation, chosen by a digest of the family's name.
    Siblings and twins are therefore in the same split in every run, however their tools are
    perturbed.

    Args:
        cluster: the family named in the trace, or the item's id (`Attempt.cluster`).
        item: the item, for the family and the split named in the data; None if it is not stored.
    """
    given = item.extra.get("split") if item is not None else None
    if isinstance(given, str):
        return given
    name = (family_of(item) if item is not None else "") or cluster
    return "train" if hashlib.sha256(name.encode()).digest()[0] % SPLIT_OF else "validation"


def chat(one: Exported, item: Item | None, style: ChatStyle) -> dict[str, JSON]:
    """Convert an episode to a chat; without its item there are no `tools`."""
    start = one.trace.started
    messages, _ = shown(start.call_format, one.trace.conversation(), ())
    schemas = _schemas(one.trace.tools, item)
    listed = reordered(start, schemas) if style.order is ToolOrder.SHUFFLED else schemas
    texts = {tool_lines(schemas): tool_lines(listed)} if schemas else {}
    line: dict[str, JSON] = {
        "item": start.item,
        "perturbation": start.perturbation,
        "tool_order": _order(start, schemas, listed, messages),
        "split": split(one.attempt.cluster, item),
        "messages": [chat_message(message, style.arguments, texts) for message in messages],
    }
    if start.call_format is CallFormat.NATIVE and listed:
        line["tools"] = [schema.to_openai() for schema in listed]
    return line


def _schemas(names: Iterable[str], item: Item | None) -> list[ToolSchema]:
    tools = item.all_tools if item is not None else {}
    return [tools[name].schema for name in names if name in tools]


def reordered(start: Started, schemas: Sequence[ToolSchema]) -> list[ToolSchema]:
    """Return tools in an order that depends on the episode's item and seed alone."""
    listed = [*schemas]
    random.Random(f"{start.seed}/{start.item}/chat").shuffle(listed)
    return listed


def listing(
    start: Started, names: Iterable[str], item: Item
) -> tuple[list[dict[str, JSON]], dict[str, str]]:
    """Return what shows tools in another order: the `tools` of a line, and texts in its prompt.

    In the text format there are no `tools`; the second maps each list of tools to its new version.
    """
    schemas = _schemas(names, item)
    listed = reordered(start, schemas)
    if start.call_format is CallFormat.NATIVE:
        return [schema.to_openai() for schema in listed], {}
    return [], {tool_lines(schemas): tool_lines(listed)} if schemas else {}


def _order(
    start: Started,
    schemas: Sequence[ToolSchema],
    listed: Sequence[ToolSchema],
    messages: Sequence[Message],
) -> str:
    """Return the order of the tools in the chat; a study's own prompt keeps its order."""
    described = start.call_format is CallFormat.NATIVE or any(
        tool_lines(schemas) in message.content for message in messages
    )
    moved = described and [*schemas] != [*listed]
    return ToolOrder.SHUFFLED.value if moved else tool_order(start.perturbation)


def chat_message(
    message: Message, form: Arguments, texts: Mapping[str, str] = MappingProxyType({})
) -> dict[str, JSON]:
    """Convert a message; `texts` maps tool lists in prompts to their reordered versions."""
    plain = plain_message(message, partial(_arguments, form=form))
    head: dict[str, JSON] = {"role": plain.pop("role"), "content": plain.pop("content")}
    if isinstance(message, SystemMessage | UserMessage):
        for played, listed in texts.items():
            head["content"] = str(head["content"]).replace(played, listed)
    if isinstance(message, AssistantMessage) and message.thoughts and message.thoughts.text:
        head["reasoning_content"] = message.thoughts.text
    return head | plain


def _arguments(text: str, form: Arguments) -> JSON:
    """Encode arguments; text that is not a JSON object is wrapped, as in `wire_sending`."""
    if form is Arguments.STRING:
        return text
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"unparsed": text}


def with_objects(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of a chat with the arguments of its calls as objects."""
    calls = [
        {**call, "function": {**call["function"], "arguments": _arguments(
            call["function"]["arguments"], Arguments.OBJECT)}}
        for call in message.get("tool_calls", ())
    ]  # fmt: skip
    return {**message, "tool_calls": calls} if calls else dict(message)
