"""Tools of scenario items that act on the episode: ask the user, change tools, give up."""

from __future__ import annotations

from enum import StrEnum

from toolhop_sandbox.outcome import JSON
from toolhop_tools.benchmarks.relytoolbench.reader import FINISH
from toolhop_tools.model import EpisodeAction, Tool, ToolSchema


class Offer(StrEnum):
    """Set of actions that an item offers."""

    ACTIONS = "actions"
    """Three tools: ask the user, change tools, give up."""
    FINISH = "finish"
    """RelyToolBench's ``Finish``, whose argument selects the action; it ends the episode."""
    OFF = "off"


def _action(name: str, description: str, body: EpisodeAction, **parameters: str) -> Tool:
    """Return a tool whose parameters are strings."""
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
"""Action tools that an item has besides its own, by offer."""
