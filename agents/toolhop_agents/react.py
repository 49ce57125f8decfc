"""The loop: ask the agent, step the episode, until it ends."""

from __future__ import annotations

import anyio

from toolhop_agents.call_formats import shown
from toolhop_agents.models.base import ConversationTooLong, Model, ModelFault, NoReply
from toolhop_env.episode import Episode
from toolhop_env.trace import Ending
from toolhop_sandbox.errors import SandboxError


async def play(episode: Episode, model: Model) -> None:
    """Play an entered episode to its end; the trace tells all.

    Faults of the model's infrastructure and of the sandbox end it as errored, with the reason. A
    reply that is not there at the time limit ends it as out of time; a conversation that has
    grown too long for the model, as out of context; one that is never answered, as stopped.

    Raises:
        ModelFault: the model could not be asked, after the episode was ended as errored; a `fatal`
            one makes other episodes useless too.
    """
    while episode.ending is None:
        schemas = [tool.schema for tool in episode.tools]
        messages, offered = shown(episode.setting.call_format, episode.conversation, schemas)
        try:
            with anyio.move_on_after(episode.seconds_left) as scope:
                reply = await model.reply(messages, offered)
                await episode.step(reply)
            if scope.cancelled_caught:
                episode.end(Ending.OUT_OF_TIME)
        except ModelFault as fault:
            too_long = isinstance(fault, ConversationTooLong)
            if too_long and episode.trace.replies:
                episode.end(Ending.OUT_OF_CONTEXT)
                return
            if isinstance(fault, NoReply):
                episode.end(Ending.STOPPED, str(fault))
                return
            episode.end(Ending.ERRORED, f"the model could not be asked: {fault}")
            raise
        except SandboxError as fault:
            episode.end(Ending.ERRORED, f"the sandbox broke: {fault}")
