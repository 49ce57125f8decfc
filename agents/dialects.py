"""How a conversation is put to a player in each dialect, and read back by scripted ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from env.messages import AssistantMessage, Message, RawCall, Reply, ToolMessage, UserMessage
from env.reading import Dialect, read_calls, write_calls
from toolhop_tools.model import ToolDocument

_OBSERVATION = re.compile(r"^Observation: ", re.MULTILINE)


def shown(
    dialect: Dialect, messages: Sequence[Message], documents: Sequence[ToolDocument]
) -> tuple[tuple[Message, ...], tuple[ToolDocument, ...]]:
    """What is sent: in the text dialect feedback is a user's `Observation:`, and no tools go
    beside the text, which describes them.
    """
    if dialect is Dialect.NATIVE:
        return tuple(messages), tuple(documents)
    sent: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            sent.append(AssistantMessage(message.content))
        elif not isinstance(message, ToolMessage):
            sent.append(message)
        elif isinstance(sent[-1], UserMessage) and sent[-1].content.startswith("Observation: "):
            sent[-1] = UserMessage(f"{sent[-1].content}\n\nObservation: {message.content}")
        else:
            sent.append(UserMessage(f"Observation: {message.content}"))
    return tuple(sent), ()


def restored(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The native form of a conversation shown in the text dialect; a native one is unchanged."""
    found: list[Message] = []
    calls: list[RawCall] = []
    for turn, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and not message.calls:
            calls = list(read_calls(Dialect.TEXT, Reply(message.content), turn))
            found.append(replace(message, calls=tuple(calls)))
        elif isinstance(message, UserMessage) and message.content.startswith("Observation: "):
            texts = _OBSERVATION.split(message.content)[1:]
            for call, text in zip(calls, texts, strict=False):
                found.append(ToolMessage(call.id, call.name, text.removesuffix("\n\n")))
        else:
            found.append(message)
    return tuple(found)


def written(dialect: Dialect, reply: Reply) -> Reply:
    """A scripted reply in `dialect`."""
    if dialect is Dialect.NATIVE or not reply.calls:
        return reply
    return replace(reply, content=write_calls(reply.content, reply.calls), calls=())


def dialect_of(messages: Sequence[Message], documents: Sequence[ToolDocument]) -> Dialect:
    """The dialect in which a request was made, as a scripted server has to guess it."""
    text = any("Action Input:" in message.content for message in messages)
    return Dialect.TEXT if text and not documents else Dialect.NATIVE
