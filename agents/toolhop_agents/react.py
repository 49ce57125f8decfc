"""The agent loop: ask the agent and step the episode until it ends."""

from __future__ import annotations

import anyio

from toolhop_agents.call_formats import shown
from toolhop_agents.models.base import ConversationTooLong, Model, ModelFault, NoReply
from toolhop_env.episode import Episode
from toolhop_env.guarded import BenchmarkFault
from toolhop_env.trace import Ending
from toolhop_sandbox.errors import SandboxError


async def play(episode: Episode, model: Model) -> None:
    """Play an entered episode to its end; the trace records everything.

    Faults of the model service, the sandbox or the benchmark's code end the episode as errored. If
    the time limit passes before a reply arrives, it ends as out of time; if the conversation
    outgrows the model's context, as out of context; if the agent stops replying, as stopped.

    Raises:
        ModelFault: the model could not be asked; the episode has ended as errored. After a `fatal`
            fault, other episodes would fail too.
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
        except BenchmarkFault as fault:
            episode.end(Ending.ERRORED, str(fault))
