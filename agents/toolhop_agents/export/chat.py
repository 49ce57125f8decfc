"""Episodes as chats for fine-tuning: one JSON line each, `messages` and `tools`.

The shape is that of OpenAI's chat completions, which trainers take: an assistant's message has
`tool_calls`, a tool's message answers one by its id. In the text format calls are part of the
texts, as they were written and shown, and there are no `tools`.

Published items list their tools in hop order. A model that is trained on that order learns to read
the plan off the list, so tools are listed in another order unless asked for otherwise.
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
    """How a chat lists its tools."""

    SHUFFLED = "shuffled"
    PLAYED = "played"
    """As in the run; published items in hop order, unless the run was played otherwise."""


class Arguments(StrEnum):
    """How a chat writes a call's arguments."""

    OBJECT = "object"
    """As JSON objects: chat templates of Hugging Face's models want them, and TRL with them."""
    STRING = "string"
    """As JSON in a text: OpenAI's and Azure's fine-tuning want it."""


@dataclass(frozen=True, slots=True)
class ChatStyle:
    """What is written of each episode."""

    order: ToolOrder = ToolOrder.SHUFFLED
    arguments: Arguments = Arguments.OBJECT
    include_wrong: bool = False
    """Also episodes that are wrong; never errored ones."""


def write_chats(
    episodes: Iterable[tuple[Exported, Item | None]], path: Path, style: ChatStyle
) -> Written:
    """Write a line for each episode that counts and is right.

    Args:
        episodes: attempts, each with its item for the tools' schemas.
        path: the file; it appears once it is whole.
        style: what is written.

    Raises:
        ExportError: the file cannot be written.
    """
    lines = 0
    # Halves of surrogate pairs in arguments that are decoded stay the escapes that they were.
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
    """Whether the benchmark's leading measure gives the episode full credit."""
    score = one.attempt.score
    parts = None if score is None else one.benchmark.lead.of(score)
    return parts is not None and parts[0] >= parts[1] > 0


SPLIT_OF = 10
"""One family in so many is held out."""


def split(cluster: str, item: Item | None) -> str:
    """The split that the data names, else ``train``, or ``validation`` for about a tenth of the
    families, by the digest of the family's name: siblings and twins are on the same side, in every
    run, whatever is done to their tools.

    Args:
        cluster: the family as the trace has it, or the item's id (`Attempt.cluster`).
        item: names its family and its split where the data does; None where it is not kept.
    """
    given = item.extra.get("split") if item is not None else None
    if isinstance(given, str):
        return given
    name = (family_of(item) if item is not None else "") or cluster
    return "train" if hashlib.sha256(name.encode()).digest()[0] % SPLIT_OF else "validation"


def chat(one: Exported, item: Item | None, style: ChatStyle) -> dict[str, JSON]:
    """An episode as a chat. Without its item there are no `tools`."""
    start = one.trace.started
    messages, _ = shown(start.call_format, one.trace.conversation(), ())
    schemas: list[ToolSchema] = []
    if item is not None:
        tools = item.all_tools
        schemas = [tools[name].schema for name in one.trace.tools if name in tools]
    listed = [*schemas]
    if style.order is ToolOrder.SHUFFLED:
        random.Random(f"{start.seed}/{start.item}/chat").shuffle(listed)
    texts = {tool_lines(schemas): tool_lines(listed)} if schemas else {}
    line: dict[str, JSON] = {
        "item": start.item,
        "perturbation": start.perturbation,
        "tool_order": _order(start, schemas, listed, messages),
        "split": split(one.attempt.cluster, item),
        "messages": [_message(message, style.arguments, texts) for message in messages],
    }
    if start.call_format is CallFormat.NATIVE and listed:
        line["tools"] = [schema.to_openai() for schema in listed]
    return line


def _order(
    start: Started,
    schemas: Sequence[ToolSchema],
    listed: Sequence[ToolSchema],
    messages: Sequence[Message],
) -> str:
    """In what order the chat lists its tools: a prompt of a study's own is left as it was."""
    described = start.call_format is CallFormat.NATIVE or any(
        tool_lines(schemas) in message.content for message in messages
    )
    moved = described and [*schemas] != [*listed]
    return ToolOrder.SHUFFLED.value if moved else tool_order(start.perturbation)


def _message(message: Message, form: Arguments, texts: Mapping[str, str]) -> dict[str, JSON]:
    """A message; of the text format with the tools in its prompt in another order (`texts`)."""
    plain = plain_message(message, partial(_arguments, form=form))
    head: dict[str, JSON] = {"role": plain.pop("role"), "content": plain.pop("content")}
    if isinstance(message, SystemMessage | UserMessage):
        for played, listed in texts.items():
            head["content"] = str(head["content"]).replace(played, listed)
    if isinstance(message, AssistantMessage) and message.thoughts and message.thoughts.text:
        head["reasoning_content"] = message.thoughts.text
    return head | plain


def _arguments(text: str, form: Arguments) -> JSON:
    """What is not a JSON object stands as `wire` sends it to servers that parse the history."""
    if form is Arguments.STRING:
        return text
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"unparsed": text}
