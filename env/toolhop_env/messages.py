"""What passes between an episode and whoever plays it, free of any provider's wire format."""

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
"""No count, time or cost comes near: what says so is not a figure."""
Count: TypeAlias = Annotated[int, Field(ge=0, le=MOST)]
Amount: TypeAlias = Annotated[float, Field(ge=0, le=MOST)]
"""Seconds or US dollars, read from a file."""


@dataclass(frozen=True, slots=True)
class RawCall:
    """One tool call exactly as the agent wrote it, before anything was read into it."""

    id: str
    """The provider's call id, or one of ours where the tool-call format has none."""
    name: str
    arguments: str
    """The arguments' text, meant to be a JSON object; any text is possible."""


@dataclass(frozen=True, slots=True)
class Thoughts:
    """What a model thought before it spoke, as its provider sent it.

    Providers want their fields back unchanged: a signature is checked against the text it signs.
    """

    text: str = ""
    """What a person can read; empty where the provider sends none, or only an encrypted form."""
    fields: Mapping[str, JSON] = field(default_factory=dict)
    """Fields of the message, such as ``reasoning_content`` or ``thinking_blocks``."""
    of_calls: tuple[Mapping[str, JSON], ...] = ()
    """Fields of each call, in order, such as a thought signature; empty where no call has any."""
    digest: str = ""
    """SHA-256 of thoughts that are not kept; the rest is empty then."""
    chars: int = 0
    """Length of the text of thoughts that are not kept."""

    def forgotten(self) -> Thoughts:
        """What is left of thoughts that may not be kept: their length, and a digest."""
        whole = [self.text, dict(self.fields), [dict(one) for one in self.of_calls]]
        text = json.dumps(whole, sort_keys=True)
        return Thoughts(digest=hashlib.sha256(text.encode()).hexdigest(), chars=len(self.text))

    @property
    def signed(self) -> bool:
        """Whether the provider can check that they come back unchanged."""
        return any(self.of_calls) or any(name not in PLAIN_THOUGHTS for name in self.fields)


PLAIN_THOUGHTS = frozenset({"reasoning_content", "reasoning"})
"""Fields that hold thoughts as text alone, without a signature."""


class ReasoningHistory(StrEnum):
    """Which thoughts of earlier turns go back to the model."""

    AUTO = "auto"
    """As providers ask: signed thoughts of all turns, others since the last message of a user."""
    ALL = "all"
    LAST = "last"
    """Those since the last message of a user."""
    NONE = "none"


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
    thoughts: Thoughts | None = None
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

    input_tokens: Count = 0
    output_tokens: Count = 0
    cost_usd: Amount | None = None
    """None where the price is not known; never guessed."""
    prompt_cached_tokens: Count = 0
    """Of the input tokens, those that the provider had at hand and sells for less."""
    reasoning_tokens: Count = 0
    """Of the output tokens, those of thoughts; 0 where the provider does not tell."""


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
    wall_s: Amount = 0.0
    """Seconds from request to reply, retries included."""
    model: str = ""
    """The name that the provider says answered."""
    finish_reason: str = ""
    retries: Count = 0
    """Requests that failed in a retryable way before this reply."""
    origin: Origin = Origin.ASKED
    thoughts: Thoughts | None = None
    """None where the provider sent none."""

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
    """The text with halves of surrogate pairs written out as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def remembered(messages: Sequence[Message], history: ReasoningHistory) -> tuple[Message, ...]:
    """The messages with the thoughts that go back to the model, and without the others."""
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
