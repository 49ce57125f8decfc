"""Episodes as chats for fine-tuning: one JSON line each, `messages` and `tools`.

The shape is that of OpenAI's chat completions, which trainers take: an assistant's message has
`tool_calls`, a tool's message answers one by its id. In the text dialect calls are part of the
texts, as they were written and shown, and there are no `tools`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from agents.dialects import shown
from agents.export.files import aside
from agents.export.parquet import Written
from agents.export.played import Played
from env.messages import AssistantMessage, Message, ToolMessage
from env.reading import Dialect
from sandbox.outcome import JSON
from toolhop_tools.model import Item


def write_chats(
    played: Iterable[tuple[Played, Item | None]], path: Path, *, include_wrong: bool = False
) -> Written:
    """Write a line for each episode that counts and is strictly right.

    Args:
        played: attempts, each with its item for the tools' documents.
        path: the file; it appears once it is whole.
        include_wrong: also those that are wrong; never void ones.

    Raises:
        ExportError: the file cannot be written.
    """
    lines = 0
    with aside(path) as beside, beside.open("w", encoding="utf-8") as file:
        for one, item in played:
            if one.counts and one.score is not None and (one.score.strict or include_wrong):
                file.write(json.dumps(chat(one, item), ensure_ascii=False) + "\n")
                lines += 1
    return Written((path,), {"chats": lines})


def chat(one: Played, item: Item | None) -> dict[str, JSON]:
    """An episode as a chat. Without its item there are no `tools`."""
    start = one.trace.started
    messages, _ = shown(start.dialect, one.trace.conversation(), ())
    line: dict[str, JSON] = {"messages": [_message(message) for message in messages]}
    if start.dialect is Dialect.NATIVE and start.tools and item is not None:
        documents: Mapping[str, JSON] = {
            name: tool.document.to_openai() for name, tool in item.tools.items()
        }
        line["tools"] = [documents[name] for name in start.tools if name in documents]
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
