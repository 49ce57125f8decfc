"""Tools of scenario items that act on the episode: ask, change the tools, give up."""

from __future__ import annotations

from enum import StrEnum

from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.relytoolbench.reader import FINISH
from toolhop_tools.model import EpisodeAction, Tool, ToolSchema


class Offer(StrEnum):
    """Which actions an item has."""

    ACTIONS = "actions"
    """Ask the user, change the tools, give up: each a tool."""
    FINISH = "finish"
    """RelyToolBench's one ``Finish``, whose argument says which; it ends the episode."""
    OFF = "off"


def _action(name: str, description: str, body: EpisodeAction, **parameters: str) -> Tool:
    """A tool whose parameters are texts."""
    properties: dict[str, JSON] = {
        key: {"type": "string", "description": text} for key, text in parameters.items()
    }
    required: list[JSON] = [*parameters]
    schema: dict[str, JSON] = {"type": "object", "properties": properties, "required": required}
    return Tool(ToolSchema(name, description, schema), body)


TALK_TO_USER = _action(
    "talk_to_user",
    "Ask the user for something that the task leaves out and that only the user can know.",
    EpisodeAction.ASK_USER,
    question="What you want to know.",
    about="The name of the parameter, of a tool that you have, that you need a value for.",
)
CHANGE_TOOLS = _action(
    "change_tools",
    "Ask for other tools, where those on offer cannot do what the task needs.",
    EpisodeAction.CHANGE_TOOLS,
    reason="Why the tools on offer do not do.",
    need="What a tool has to do that you need.",
)
GIVE_UP = _action(
    "give_up",
    "End the task without an answer, where it cannot be done.",
    EpisodeAction.GIVE_UP,
    reason="Why it cannot be done.",
)

TOOLS: dict[Offer, tuple[Tool, ...]] = {
    Offer.ACTIONS: (TALK_TO_USER, CHANGE_TOOLS, GIVE_UP),
    Offer.FINISH: (FINISH,),
    Offer.OFF: (),
}
"""By offer: the tools that an item has beside its own."""
