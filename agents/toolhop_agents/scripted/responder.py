"""A scripted agent as the loopback server's voice: finds the item by its question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from toolhop_agents.models.loopback import Request, RequestResponder
from toolhop_agents.prompts import tool_lines
from toolhop_agents.scripted.model import Play, as_offered, on_offer, respond
from toolhop_env.messages import Message, Reply, Usage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_tools.model import DataSet, Item, ToolSchema

TOKEN_BYTES = 4
"""Bytes of UTF-8 that count as a token: about what tokenizers make of English."""


def responder(
    data: DataSet, play: Play, seed: int, call_format: CallFormat | None = None
) -> RequestResponder:
    """Answers each request as `play` would, for the item whose question it holds.

    A request does not say its tool-call format. Where `call_format` does not, the tools show
    it: they stand beside the messages, or are described in them.
    """

    def answer(request: Request) -> Reply:
        item = item_of(data, request.messages, request.tools)
        prompt = "\n".join(message.content for message in request.messages)
        described = all(f'"{name}"' in prompt for name in item.tools)
        called = call_format or (
            CallFormat.TEXT if described and not request.tools else CallFormat.NATIVE
        )
        offered = bool(request.tools) or (described and called is CallFormat.TEXT)
        item = as_offered(item, request.messages, request.tools)
        return respond(play, item, seed, called, request.messages, offered)

    return answer


def metered(answer: RequestResponder) -> RequestResponder:
    """The same, with tokens stated: one for each `TOKEN_BYTES` of the request and of the reply.

    No model's tokenizer counts so. It lets limits, prices and estimates be tried.
    """

    def counted(request: Request) -> Reply:
        reply = answer(request)
        asked = {name: request.body.get(name) for name in ("messages", "tools")}
        said = [reply.content, *(f"{call.name}{call.arguments}" for call in reply.calls)]
        usage = Usage(input_tokens=_tokens(json.dumps(asked)), output_tokens=_tokens("".join(said)))
        return replace(reply, usage=usage)

    return counted


def _tokens(text: str) -> int:
    return ceil(len(text.encode(errors="replace")) / TOKEN_BYTES)


def item_of(data: DataSet, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> Item:
    """The item whose question stands in the user's messages; the longest, if several do.

    Of items with one question it is the one whose tools are on offer: those that it begins with,
    as it shows them, and as few others as can be, as some may have come since.

    Raises:
        LookupError: none does.
    """
    said = "\n".join(message.content for message in messages if isinstance(message, UserMessage))
    found = [
        item
        for item in data.items
        if any(text in said for text in (item.question, *item.wordings.values()))
    ]
    if not found:
        raise LookupError(f"no question of the data set {data.name} stands in the conversation")

    def fit(item: Item) -> tuple[int, int, int, int]:
        """How much of the conversation is the item's own."""
        offered, own = {*on_offer(item, messages, tools)}, item.tools.keys()
        schemas = [tool.schema for tool in item.tools.values()]
        alike = sum(one in tools if tools else tool_lines([one]) in said for one in schemas)
        return len(item.question), -len(own - offered), alike, -len(offered - own)

    return max(found, key=fit)
