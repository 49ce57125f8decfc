"""Scripted constructors as models: pure functions of the conversation, in process or served."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

from toolhop_agents.models.base import NoSuchModel
from toolhop_agents.models.exchange import priced
from toolhop_agents.models.prices import Price
from toolhop_agents.scripted.constructor import honest
from toolhop_env.messages import Message, Reply, Usage, UserMessage
from toolhop_tools.model import ToolSchema

PREFIX = "scripted/"
TOKEN_BYTES = 4
"""Bytes of UTF-8 that count as a token."""

Script: TypeAlias = Callable[[Mapping[str, Any], Sequence[str]], str]
"""The inputs of a stage, and the repair prompts since; the text of the reply."""


def _honest(inputs: Mapping[str, Any], repairs: Sequence[str]) -> str:
    del repairs
    return json.dumps(honest.reply(inputs), ensure_ascii=False)


CONSTRUCTORS: Mapping[str, str] = {
    "honest": "right at the first reply",
}


def script(name: str) -> Script:
    """The constructor of a name, such as ``honest``.

    Raises:
        NoSuchModel: there is none.
    """
    if name == "honest":
        return _honest
    known = ", ".join(CONSTRUCTORS)
    raise NoSuchModel(f"there is no scripted constructor {name!r}; there are {known}")


def answered(play: Script, messages: Sequence[Message]) -> Reply:
    """The reply to a conversation, with a token stated for each `TOKEN_BYTES`.

    Raises:
        ValueError: it is no conversation of `toolhop construct`.
    """
    said = [message.content for message in messages if isinstance(message, UserMessage)]
    if not said:
        raise ValueError("the conversation has no message with the inputs of a stage")
    text = play(json.loads(said[0]), said[1:])
    sent = sum(len(message.content.encode()) for message in messages)
    usage = Usage(ceil(sent / TOKEN_BYTES), ceil(len(text.encode()) / TOKEN_BYTES))
    return Reply(text, usage=usage, finish_reason="stop")


@dataclass(frozen=True)
class ScriptedConstructor:
    """A scripted constructor as a `Model`, in process."""

    name: str
    play: Script
    price: Price | None = None

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`."""
        del tools
        reply = answered(self.play, messages)
        usage = priced(reply.usage, self.price)
        return Reply(reply.content, usage=usage, finish_reason=reply.finish_reason, model=self.name)
