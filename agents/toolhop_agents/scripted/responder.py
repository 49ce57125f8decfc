"""A scripted agent behind the loopback server, which finds each item by its question."""

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
"""Bytes of UTF-8 per token, about the average of tokenizers on English."""


def responder(
    data: DataSet, play: Play, seed: int, call_format: CallFormat | None = None
) -> RequestResponder:
    """Return a responder that answers as `play` would for the item whose question is asked.

    A request does not state its tool-call format. If `call_format` is None, it is derived from the
    tools, which are either passed beside the messages or described in them.
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
    """Add token counts to the replies: one token per `TOKEN_BYTES` of the request and the reply.

    No model's tokenizer counts like this, but limits, prices and estimates can be tried with it.
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
    """Return the item whose question is in the user's messages, preferring the longest question.

    Among items with the same question, prefer the one with the most of its initial tools available,
    then the most matching descriptions, then the fewest other tools, since some may have been
    added.

    Raises:
        LookupError: no question of the data is in the messages.
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
        """Return how well an item fits the conversation, as a sort key."""
        offered, own = {*on_offer(item, messages, tools)}, item.tools.keys()
        schemas = [tool.schema for tool in item.tools.values()]
        alike = sum(one in tools if tools else tool_lines([one]) in said for one in schemas)
        return len(item.question), -len(own - offered), alike, -len(offered - own)

    return max(found, key=fit)
