"""Messages between an episode and its agent, independent of any provider's wire format."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from toolhop_sandbox.outcome import JSON

MOST = 2**53
"""Upper bound of any real count, time or cost; larger values in a file are invalid."""
Count: TypeAlias = Annotated[int, Field(ge=0, le=MOST)]
Amount: TypeAlias = Annotated[float, Field(ge=0, le=MOST)]
"""Seconds or US dollars, as read from a file."""


@dataclass(frozen=True, slots=True)
class RawCall:
    """One tool call exactly as the agent wrote it, before any interpretation."""

    id: str
    """The provider's call id, or one of ours if the tool-call format has none."""
    name: str
    arguments: str
    """Text of the arguments, meant to be a JSON object but possibly anything."""


@dataclass(frozen=True, slots=True)
class Thoughts:
    """A model's reasoning before its reply, as sent by the provider.

    Providers expect their fields back unchanged: a signature is checked against the text it signs.
    """

    text: str = ""
    """Readable text; empty if the provider sends none, or only an encrypted form."""
    fields: Mapping[str, JSON] = field(default_factory=dict)
    """Fields of the message, such as ``reasoning_content`` or ``thinking_blocks``."""
    of_calls: tuple[Mapping[str, JSON], ...] = ()
    """Fields of each call, in order, such as a thought signature; empty if no call has any."""
    digest: str = ""
    """SHA-256 of thoughts that were not stored; all other fields but `chars` are then empty."""
    chars: int = 0
    """Length of the text of thoughts that were not stored, in characters."""

    def forgotten(self) -> Thoughts:
        """Return only the length and a digest, for thoughts that may not be stored."""
        whole = [self.text, dict(self.fields), [dict(one) for one in self.of_calls]]
        text = json.dumps(whole, sort_keys=True)
        return Thoughts(digest=hashlib.sha256(text.encode()).hexdigest(), chars=len(self.text))

    @property
    def signed(self) -> bool:
        """Whether the provider can verify that the thoughts come back unchanged."""
        return any(self.of_calls) or any(name not in PLAIN_THOUGHTS for name in self.fields)


PLAIN_THOUGHTS = frozenset({"reasoning_content", "reasoning"})
"""Fields that hold thoughts as plain text, without a signature."""


class ReasoningHistory(StrEnum):
    """Which thoughts of earlier turns are sent back to the model."""

    AUTO = "auto"
    """As providers require: signed thoughts of all turns, others since the last user message."""
    ALL = "all"
    LAST = "last"
    """Thoughts since the last user message."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """The system prompt."""

    content: str
    role: Literal["system"] = "system"


@dataclass(frozen=True, slots=True)
class UserMessage:
    """The question, or a message from the harness."""

    content: str
    role: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A message from the agent."""

    content: str
    calls: tuple[RawCall, ...] = ()
    thoughts: Thoughts | None = None
    role: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """Feedback on one call."""

    call_id: str
    name: str
    content: str
    role: Literal["tool"] = "tool"


Message: TypeAlias = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")
]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of a reply; zero for scripted agents."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cost_usd: Amount | None = None
    """Cost in US dollars, never estimated; None if the price is unknown."""
    prompt_cached_tokens: Count = 0
    """Input tokens that the provider had cached and sells for less; part of `input_tokens`."""
    reasoning_tokens: Count = 0
    """Output tokens spent on thoughts; part of `output_tokens`, 0 if the provider does not
    report them."""


CUT_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Finish reasons, in lower case, of a reply that reached its token limit."""


class Origin(StrEnum):
    """Where a reply came from."""

    ASKED = "asked"
    """Requested in this episode, and paid for if it has a price."""
    CACHED = "cached"
    """Taken from a response cache: usage is that of the original request, and nothing was paid."""
    RESUMED = "resumed"
    """Requested in the attempt that this one resumes, which was cut off later."""


@dataclass(frozen=True, slots=True)
class ReplyTokens:
    """The tokens of a reply, from a server that returns them."""

    prompt_ids: tuple[int, ...]
    """Tokens of the conversation as the server rendered it; empty if it does not say."""
    completion_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """One turn of an agent."""

    content: str = ""
    calls: tuple[RawCall, ...] = ()
    """Native tool calls, in order; the text format leaves its calls in `content`."""
    usage: Usage = field(default_factory=Usage)
    wall_s: Amount = 0.0
    """Seconds from request to reply, including retries."""
    model: str = ""
    """Name of the model that answered, according to the provider."""
    finish_reason: str = ""
    retries: Count = 0
    """Number of retryable request failures before this reply."""
    origin: Origin = Origin.ASKED
    thoughts: Thoughts | None = None
    """The model's reasoning; None if the provider sent none."""
    tokens: Annotated[ReplyTokens | None, Field(exclude=True)] = None
    """Tokens for a trainer, if the server sent them; traces do not keep them."""

    @property
    def cut(self) -> bool:
        """Whether the reply reached its token limit; it is scored as it is."""
        return self.finish_reason.lower() in CUT_REASONS


def clean(reply: Reply) -> Reply:
    """Return the reply with lone surrogates written as escapes, as files hold UTF-8 only."""
    calls = tuple(
        RawCall(clean_text(call.id), clean_text(call.name), clean_text(call.arguments))
        for call in reply.calls
    )
    return replace(
        reply,
        content=clean_text(reply.content),
        calls=calls,
        thoughts=reply.thoughts and _clean_thoughts(reply.thoughts),
        model=clean_text(reply.model),
        finish_reason=clean_text(reply.finish_reason),
    )


def _clean_thoughts(thoughts: Thoughts) -> Thoughts:
    return replace(
        thoughts,
        text=clean_text(thoughts.text),
        fields=_clean_object(thoughts.fields),
        of_calls=tuple(_clean_object(beside) for beside in thoughts.of_calls),
    )


def _clean_object(value: Mapping[str, JSON]) -> dict[str, JSON]:
    return {clean_text(name): _clean_value(part) for name, part in value.items()}


def _clean_value(value: JSON) -> JSON:
    match value:
        case str():
            return clean_text(value)
        case Mapping():
            return _clean_object(value)
        case list():
            return [_clean_value(part) for part in value]
        case _:
            return value


def clean_text(text: str) -> str:
    """Return the text with lone surrogates written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def remembered(messages: Sequence[Message], history: ReasoningHistory) -> tuple[Message, ...]:
    """Return the messages, keeping only the thoughts that are sent back to the model."""
    last_user = max(
        (at for at, message in enumerate(messages) if isinstance(message, UserMessage)), default=-1
    )

    def goes_back(at: int, thoughts: Thoughts) -> bool:
        match history:
            case ReasoningHistory.ALL:
                return True
            case ReasoningHistory.LAST:
                return at > last_user
            case ReasoningHistory.AUTO:
                return at > last_user or thoughts.signed
            case _:
                return False

    return tuple(
        replace(message, thoughts=None)
        if isinstance(message, AssistantMessage)
        and message.thoughts is not None
        and not goes_back(at, message.thoughts)
        else message
        for at, message in enumerate(messages)
    )
