"""Episodes as chats for fine-tuning: one JSON line each, `messages` and `tools`.

The shape is that of OpenAI's chat completions, which trainers take: an assistant's message has
`tool_calls`, a tool's message answers one by its id. In the text format calls are part of the
texts, as they were written and shown, and there are no `tools`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from toolhop_agents.call_formats import shown
from toolhop_agents.export.episodes import Exported
from toolhop_agents.export.files import atomic
from toolhop_agents.export.parquet import Written
from toolhop_env.messages import AssistantMessage, Message, ToolMessage
from toolhop_env.reading import CallFormat
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import Item


def write_chats(
    episodes: Iterable[tuple[Exported, Item | None]], path: Path, *, include_wrong: bool = False
) -> Written:
    """Write a line for each episode that counts and is right.

    Args:
        episodes: attempts, each with its item for the tools' schemas.
        path: the file; it appears once it is whole.
        include_wrong: also those that are wrong; never errored ones.

    Raises:
        ExportError: the file cannot be written.
    """
    lines = 0
    with atomic(path) as beside, beside.open("w", encoding="utf-8") as file:
        for one, item in episodes:
            if one.counts and one.attempt.score and (include_wrong or right(one)):
                file.write(json.dumps(chat(one, item), ensure_ascii=False) + "\n")
                lines += 1
    return Written((path,), {"chats": lines})


def right(one: Exported) -> bool:
    """Whether the benchmark's leading measure gives the episode full credit."""
    score = one.attempt.score
    parts = None if score is None else one.benchmark.lead.of(score)
    return parts is not None and parts[0] >= parts[1] > 0


def chat(one: Exported, item: Item | None) -> dict[str, JSON]:
    """An episode as a chat. Without its item there are no `tools`."""
    start = one.trace.started
    messages, _ = shown(start.call_format, one.trace.conversation(), ())
    line: dict[str, JSON] = {"messages": [_message(message) for message in messages]}
    if start.call_format is CallFormat.NATIVE and start.tools and item is not None:
        schemas: Mapping[str, JSON] = {
            name: tool.schema.to_openai() for name, tool in item.tools.items()
        }
        line["tools"] = [schemas[name] for name in start.tools if name in schemas]
    return line


def _message(message: Message) -> dict[str, JSON]:
    plain: dict[str, JSON] = {"role": message.role, "content": message.content}
    if isinstance(message, ToolMessage):
        plain["tool_call_id"] = message.call_id
        plain["name"] = message.name
    elif isinstance(message, AssistantMessage) and message.calls:
        plain["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.calls
        ]
    return plain
