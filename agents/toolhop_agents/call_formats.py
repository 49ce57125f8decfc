"""How a conversation is put to an agent in each tool-call format, and parsed by scripted ones."""

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
    """What is sent: in the text format feedback is a user's `Observation:`, and no tools go
    beside the text, which describes them.
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
    """The native form of a conversation shown in the text format; a native one is unchanged."""
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
    """A scripted reply in `call_format`."""
    if call_format is CallFormat.NATIVE or not reply.calls:
        return reply
    return replace(reply, content=write_calls(reply.content, reply.calls), calls=())
