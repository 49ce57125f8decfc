"""Rewrite conversations for each tool-call format, and parse them back for scripted agents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from toolhop_env.messages import AssistantMessage, Message, RawCall, Reply, ToolMessage, UserMessage
from toolhop_env.reading import CallFormat, read_calls, write_calls
from toolhop_tools.model import ToolSchema

_OBSERVATION = re.compile(r"^Observation: ", re.MULTILINE)


def shown(
    call_format: CallFormat, messages: Sequence[Message], schemas: Sequence[ToolSchema]
) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
    """Return the messages and schemas to send.

    In the text format, feedback becomes a user message that begins with `Observation:`, and no
    schemas are sent, because the prompt describes the tools.
    """
    if call_format is CallFormat.NATIVE:
        return tuple(messages), tuple(schemas)
    sent: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            sent.append(replace(message, calls=()))
        elif not isinstance(message, ToolMessage):
            sent.append(message)
        elif isinstance(sent[-1], UserMessage) and sent[-1].content.startswith("Observation: "):
            sent[-1] = UserMessage(f"{sent[-1].content}\n\nObservation: {message.content}")
        else:
            sent.append(UserMessage(f"Observation: {message.content}"))
    return tuple(sent), ()


def restored(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Convert a text-format conversation back to the native format; a native one is unchanged."""
    found: list[Message] = []
    calls: list[RawCall] = []
    for turn, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and not message.calls:
            calls = list(read_calls(CallFormat.TEXT, Reply(message.content), turn))
            found.append(replace(message, calls=tuple(calls)))
        elif isinstance(message, UserMessage) and message.content.startswith("Observation: "):
            texts = _OBSERVATION.split(message.content)[1:]
            for call, text in zip(calls, texts, strict=False):
                found.append(ToolMessage(call.id, call.name, text.removesuffix("\n\n")))
        else:
            found.append(message)
    return tuple(found)


def written(call_format: CallFormat, reply: Reply) -> Reply:
    """Write a scripted reply in `call_format`."""
    if call_format is CallFormat.NATIVE or not reply.calls:
        return reply
    return replace(reply, content=write_calls(reply.content, reply.calls), calls=())
