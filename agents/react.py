"""The loop: ask the player, step the episode, until it ends."""

from __future__ import annotations

import anyio

from agents.dialects import shown
from agents.models.base import ConversationTooLong, Model, ModelFault
from env.episode import Episode
from env.trace import Ending
from sandbox.errors import SandboxError


async def play(episode: Episode, model: Model) -> None:
    """Play an entered episode to its end; the trace tells all.

    Faults of the model's infrastructure and of the sandbox end it as void, with the reason. A
    reply that is not there at the time limit ends it as out of time; a conversation that has
    grown too long for the model, as out of context.

    Raises:
        ModelFault: one that makes other episodes useless too, after the episode was ended.
    """
    documents = [tool.document for tool in episode.tools]
    while episode.ending is None:
        messages, offered = shown(episode.setting.dialect, episode.trace.conversation(), documents)
        try:
            with anyio.move_on_after(episode.seconds_left) as scope:
                reply = await model.reply(messages, offered)
                await episode.step(reply)
            if scope.cancelled_caught:
                episode.end(Ending.OUT_OF_TIME)
        except ModelFault as fault:
            if isinstance(fault, ConversationTooLong) and episode.trace.replies:
                episode.end(Ending.OUT_OF_CONTEXT)
                return
            episode.end(Ending.VOID, f"the model could not be asked: {fault}")
            if fault.fatal:
                raise
        except SandboxError as fault:
            episode.end(Ending.VOID, f"the sandbox broke: {fault}")
