"""The protocol of whoever plays an episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from toolhop_env.messages import Message, Reply
from toolhop_tools.model import ToolSchema
from toolhop_tools.secrets import redacted


class ModelFault(Exception):
    """No usable reply could be had: network, quota, credentials, a refused request.

    A fault of the infrastructure, never the model's: the episode is errored and not scored.
    `fatal` says that trying other episodes is useless too (bad key, unknown model).
    """

    def __init__(
        self, message: str, *, fatal: bool = False, cause: str = "", requests: int = 1
    ) -> None:
        super().__init__(redacted(message))
        self.fatal = fatal
        self.cause = cause or type(self).__name__
        """What equal faults have in common, such as ``HTTP 500``."""
        self.requests = requests
        """How many requests came to nothing before it was given up."""


class ConversationTooLong(ModelFault):
    """The conversation does not fit the model's context: no waiting and no repeat ends that.

    An infrastructure's fault where the prompt alone is too long, the agent's doing later.
    """


class NoReply(ModelFault):
    """Whoever answers has nothing to say, and never will: the episode ends without a reply.

    That is not a fault: a file of old answers may lack some.
    """


class NotAsked(ModelFault):
    """The model cannot be asked at all, as it is given here. Nothing was asked."""

    def __init__(self, message: str) -> None:
        super().__init__(message, fatal=True)


class NoSuchModel(NotAsked):
    """The name that was given can be no model's."""


class NoKey(NotAsked):
    """A provider needs a key, and none is set on this machine."""


class NotTogether(NotAsked):
    """A provider refuses parameters together."""


class Agent(Protocol):
    """Answers a conversation with one reply. What ``--agent MODULE:NAME`` needs."""

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """The next turn. `tools` is empty in direct mode and in the text format.

        Raises:
            ModelFault: no reply, after the retries that make sense.
            ConversationTooLong: one of them; the model's context does not hold the messages.
        """
        ...


class Model(Agent, Protocol):
    """An agent that reports can name."""

    @property
    def name(self) -> str:
        """What reports call it, such as ``openai/gpt-4o`` or ``oracle``."""
        ...
