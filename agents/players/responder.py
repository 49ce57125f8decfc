"""A scripted player as the loopback server's voice: finds the item by its question."""

from __future__ import annotations

from collections.abc import Sequence

from agents.models.loopback import Request, Responder
from agents.players.scripted import Play, respond
from env.messages import Message, Reply, UserMessage
from toolhop_tools.model import DataSet, Item


def responder(data: DataSet, play: Play, seed: int) -> Responder:
    """Answers each request as `play` would, for the item whose question it holds."""

    def answer(request: Request) -> Reply:
        item = item_of(data, request.messages)
        return respond(play, item, seed, request.messages, request.tools)

    return answer


def item_of(data: DataSet, messages: Sequence[Message]) -> Item:
    """The item whose question stands in the user's messages; the longest, if several do.

    Raises:
        LookupError: none does.
    """
    said = "\n".join(message.content for message in messages if isinstance(message, UserMessage))
    found = [item for item in data.items if item.question in said]
    if not found:
        raise LookupError(f"no question of the data set {data.name} stands in the conversation")
    return max(found, key=lambda item: len(item.question))
