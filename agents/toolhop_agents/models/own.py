"""User-defined agents, named by ``--agent MODULE:NAME``."""

from __future__ import annotations

import pkgutil
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from pathlib import Path

from toolhop_agents.models.base import Agent, ModelFault
from toolhop_env.messages import Message, Reply
from toolhop_tools.model import ToolSchema


class BadAgent(Exception):
    """The name does not refer to an agent. The message says why."""


@dataclass(frozen=True, slots=True)
class OwnModel:
    """A user-defined agent as a `Model`."""

    name: str
    agent: Agent

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `Model.reply`. Any exception from the agent makes its episode errored."""
        try:
            reply = await self.agent.reply(messages, tools)
        except ModelFault:
            raise
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}, line {last.lineno}"
            raise ModelFault(
                f"{self.name} raised {type(error).__name__}: {error} ({place})"
            ) from error
        if not isinstance(reply, Reply):
            raise ModelFault(
                f"{self.name} returned {type(reply).__name__}; return toolhop_env.messages.Reply",
                fatal=True,
            )
        return reply


def is_own(name: str) -> bool:
    """Whether a name has the form ``MODULE:NAME``."""
    module, colon, rest = name.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), rest))


def made_by(name: str) -> Callable[[], OwnModel]:
    """Return a function that creates an agent for each episode.

    Args:
        name: ``MODULE:NAME``, where NAME is a class or a function that returns an `Agent`. MODULE
            may be in the working directory.

    Raises:
        BadAgent: it cannot be imported or created, or has no ``async def reply``.
    """
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        make = pkgutil.resolve_name(name)
        agent = make()
    except Exception as error:
        raise BadAgent(f"{name} cannot be made: {type(error).__name__}: {error}") from error
    if not iscoroutinefunction(getattr(agent, "reply", None)):
        raise BadAgent(f"{name} makes {type(agent).__name__}, which has no `async def reply`")
    return lambda: OwnModel(name, make())
