"""What passes between an episode and whoever plays it, free of any provider's wire format."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field


@dataclass(frozen=True, slots=True)
class RawCall:
    """One tool call exactly as the agent wrote it, before anything was read into it."""

    id: str
    """The provider's call id, or one of ours where the tool-call format has none."""
    name: str
    arguments: str
    """The arguments' text, meant to be a JSON object; any text is possible."""


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """Standing instructions."""

    content: str
    role: Literal["system"] = "system"


@dataclass(frozen=True, slots=True)
class UserMessage:
    """The question, or a word from the harness."""

    content: str
    role: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the agent said."""

    content: str
    calls: tuple[RawCall, ...] = ()
    role: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """Feedback to one call."""

    call_id: str
    name: str
    content: str
    role: Literal["tool"] = "tool"


Message: TypeAlias = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")
]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply cost. Scripted agents use nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None where the price is not known; never guessed."""
    prompt_cached_tokens: int = 0
    """Of the input tokens, those that the provider had at hand and sells for less."""


CUT_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Finish reasons, in small letters, of a reply that reached the limit of its tokens."""


class Origin(StrEnum):
    """Where a reply came from."""

    ASKED = "asked"
    """Asked for in this episode, and paid for if it has a price."""
    CACHED = "cached"
    """Taken from a response cache: its usage is what it once took, and nothing was paid."""
    RESUMED = "resumed"
    """Asked for in the attempt that this one goes on from, which was cut off after it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One turn of an agent."""

    content: str = ""
    calls: tuple[RawCall, ...] = ()
    """Native tool calls in the order given; the text format leaves them in `content`."""
    usage: Usage = field(default_factory=Usage)
    wall_s: float = 0.0
    """Seconds from request to reply, retries included."""
    model: str = ""
    """The name that the provider says answered."""
    finish_reason: str = ""
    retries: int = 0
    """Requests that failed in a retryable way before this reply."""
    origin: Origin = Origin.ASKED

    @property
    def cut(self) -> bool:
        """Whether it reached the limit of its tokens: the model's doing, scored as it stands."""
        return self.finish_reason.lower() in CUT_REASONS


def clean(reply: Reply) -> Reply:
    """The reply with halves of surrogate pairs written out as escapes: files hold UTF-8 only."""
    calls = tuple(
        RawCall(clean_text(call.id), clean_text(call.name), clean_text(call.arguments))
        for call in reply.calls
    )
    return replace(
        reply,
        content=clean_text(reply.content),
        calls=calls,
        model=clean_text(reply.model),
        finish_reason=clean_text(reply.finish_reason),
    )


def clean_text(text: str) -> str:
    """The text with halves of surrogate pairs written out as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
