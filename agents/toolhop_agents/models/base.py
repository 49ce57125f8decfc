"""The protocol that every model and agent implements, and its errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from toolhop_env.messages import Message, Reply
from toolhop_tools.model import ToolSchema
from toolhop_tools.secrets import redacted


class ModelFault(Exception):
    """No usable reply: network failure, quota, credentials or a refused request.

    An infrastructure fault, never the model's: the episode is errored and not scored. `fatal` means
    that other episodes would fail too (bad key, unknown model).
    """

    def __init__(
        self, message: str, *, fatal: bool = False, cause: str = "", requests: int = 1
    ) -> None:
        super().__init__(redacted(message))
        self.fatal = fatal
        self.cause = cause or type(self).__name__
        """Groups faults with the same cause, such as ``HTTP 500``."""
        self.requests = requests
        """Number of failed requests before giving up."""


class ConversationTooLong(ModelFault):
    """The conversation does not fit the model's context, so retrying cannot help.

    An infrastructure fault if the prompt alone is too long; otherwise the agent's.
    """


class NoReply(ModelFault):
    """There is no reply and never will be, so the episode ends without one.

    Not a fault: an answer file may lack some items.
    """


class NotAsked(ModelFault):
    """The model cannot be used as configured. Nothing was sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message, fatal=True)


class NoSuchModel(NotAsked):
    """The given name cannot be a model's name."""


class NoKey(NotAsked):
    """The provider needs an API key, and none is set."""


class NotTogether(NotAsked):
    """The provider does not accept this combination of parameters."""


class Agent(Protocol):
    """An agent that answers a conversation with one reply. Required of ``--agent MODULE:NAME``."""

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """Return the next turn. `tools` is empty in direct mode and in the text format.

        Raises:
            ModelFault: no reply, even after the retries that make sense.
            ConversationTooLong: a ModelFault; the messages do not fit the model's context.
        """
        ...


class Model(Agent, Protocol):
    """An agent with a name for reports."""

    @property
    def name(self) -> str:
        """The name used in reports, such as ``openai/gpt-4o`` or ``oracle``."""
        ...
