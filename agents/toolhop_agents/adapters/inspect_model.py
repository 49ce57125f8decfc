"""Inspect's model as the agent of an episode: our loop asks it, Inspect keeps the conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

# Neither approval nor a transcript's events have public names for those who play by themselves.
from inspect_ai._util.exception import TerminateSampleError
from inspect_ai.approval._apply import apply_tool_approval
from inspect_ai.event import ToolEvent
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentReasoning,
    ModelOutput,
    get_model,
)
from inspect_ai.solver import TaskState
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams
from inspect_ai.util import JSONSchema
from pydantic import ConfigDict, Field

from toolhop_agents.export.inspect_samples import call_of, feedback_of
from toolhop_agents.models.base import ConversationTooLong
from toolhop_env.messages import (
    AssistantMessage,
    Message,
    RawCall,
    Reply,
    SystemMessage,
    Thoughts,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolhop_env.responders import Refusal
from toolhop_env.trace import Called, Event
from toolhop_env.verdicts import Call
from toolhop_tools.model import ToolSchema


class InspectModel:
    """A `Model` that writes what is said into a sample's state, and an `Approver` by Inspect's
    approval policy.
    """

    def __init__(self, state: TaskState) -> None:
        """Go on from the prompt, which the state's messages are."""
        self._state = state
        self._model = get_model()

    @property
    def name(self) -> str:
        """As ``--model`` names it."""
        return str(self._model)

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `toolhop_agents.models.base.Model`. Retries are Inspect's.

        Raises:
            ConversationTooLong: the model's context does not hold the messages.
        """
        kept = self._state.messages
        for number, message in enumerate(messages):
            if number >= len(kept):
                kept.append(as_chat(message))
            elif isinstance(message, AssistantMessage):
                kept[number] = _as_shown(kept[number], message)
        output = await self._model.generate(kept, [info(one) for one in tools])
        if output.stop_reason == "model_length":
            raise ConversationTooLong(output.completion or "the context is full")
        self._state.output = output
        kept.append(output.message)
        return as_reply(output)

    async def approve(self, episode: str, call: Call) -> Refusal | None:
        """See `toolhop_env.responders.Approver`; every call runs where there is no policy.

        Raises:
            TerminateSampleError: the policy ends the sample.
            RuntimeError: the policy changes a call: a score is of the calls that the model made.
        """
        said = self._state.output.message
        made = (one.id for one in said.tool_calls or [] if one.function == call.tool)
        asked = ToolCall(next(made, call.tool), call.tool, dict(call.arguments))
        runs, decision = await apply_tool_approval(said.text, asked, None, self._state.messages)
        if decision is None:
            return None
        if decision.decision == "terminate":
            raise TerminateSampleError("Tool call approver requested termination.")
        if decision.modified is not None:
            raise RuntimeError(
                f"the approval policy changed a call of {call.tool}, and calls are run here as the "
                "model made them: let it approve, reject, escalate or terminate"
            )
        return None if runs else Refusal(decision.explanation or "")


def record(event: Event) -> None:
    """Put a call into the sample's transcript as a ``tool`` event; other events are not."""
    if isinstance(event, Called):
        call, now = call_of(event), datetime.now(UTC)
        told = ToolEvent(
            id=call["id"],
            function=call["function"],
            arguments=call["arguments"],
            result=event.feedback,
            error=feedback_of(event, call["id"])["error"],
            timestamp=now - timedelta(seconds=event.wall_s),
            completed=now,
            working_time=event.wall_s,
        )
        transcript()._event(told)  # noqa: SLF001 -- no public call adds an event of a tool that Inspect did not run itself


def as_chat(message: Message) -> ChatMessage:
    """A message of ours as Inspect's.

    Feedback on a failed call is text as well, without Inspect's ``error``: providers mark or word
    that in ways of their own, and what the model sees is what feedback levels compare.
    """
    match message:
        case SystemMessage(content):
            return ChatMessageSystem(content=content)
        case UserMessage(content):
            return ChatMessageUser(content=content)
        case ToolMessage(call_id, name, content):
            return ChatMessageTool(content=content, tool_call_id=call_id, function=name)
        case AssistantMessage(content, calls):
            made = [ToolCall(one.id, one.name, {}, parse_error=one.arguments) for one in calls]
            return ChatMessageAssistant(content=content, tool_calls=made or None)


def _as_shown(kept: ChatMessage, shown: AssistantMessage) -> ChatMessage:
    """The model's own message, reasoning included, with the calls that our conversation has."""
    if not isinstance(kept, ChatMessageAssistant) or not kept.tool_calls:
        return kept
    # In the text format calls are text; elsewhere ids are made unique.
    calls = [replace(one, id=raw.id)
             for one, raw in zip(kept.tool_calls, shown.calls, strict=False)]  # fmt: skip
    return kept.model_copy(update={"tool_calls": calls or None})


def as_reply(output: ModelOutput) -> Reply:
    """What a model said, as a turn of ours."""
    message, used = output.message, output.usage
    calls = [RawCall(one.id, one.function, _arguments(one)) for one in message.tool_calls or []]
    usage = Usage()
    if used is not None:
        at_hand = used.input_tokens_cache_read or 0
        sent = used.input_tokens + at_hand + (used.input_tokens_cache_write or 0)
        thought = used.reasoning_tokens or 0
        usage = Usage(sent, used.output_tokens, used.total_cost, at_hand, thought)
    return Reply(
        message.text,
        tuple(calls),
        usage,
        wall_s=output.time or 0.0,
        model=output.model,
        finish_reason="length" if output.stop_reason == "max_tokens" else output.stop_reason,
        thoughts=_thoughts(message),
    )


def _thoughts(message: ChatMessageAssistant) -> Thoughts | None:
    """What can be read of its thoughts: the message itself, which goes back, is Inspect's."""
    parts = message.content if isinstance(message.content, list) else []
    thoughts = [part for part in parts if isinstance(part, ContentReasoning)]
    told = (part.summary if part.redacted else part.reasoning for part in thoughts)
    return Thoughts("\n".join(filter(None, told))) if thoughts else None


_BEFORE, _AFTER = "call arguments:\n\n", "\n\nError details: "


def _arguments(call: ToolCall) -> str:
    """The arguments' text as far as Inspect keeps it: of what it cannot parse, its message."""
    if call.parse_error is None:
        return json.dumps(call.arguments, ensure_ascii=False)
    _, found, rest = call.parse_error.partition(_BEFORE)
    text, _, _ = rest.rpartition(_AFTER)
    return text if found and text else call.parse_error


class WholeSchema(JSONSchema):
    """A schema with all its keywords: Inspect's own class drops those that it does not know."""

    model_config = ConfigDict(extra="allow")

    items: WholeSchema | None = None
    # mypy: a dict's or list's type may not be narrower than in the class above, as somebody could
    # put a plain schema in; these are read alone. The names are JSON Schema's.
    properties: dict[str, WholeSchema] | None = None  # type: ignore[assignment] # narrower than Inspect's, and only read
    additionalProperties: WholeSchema | bool | None = None  # noqa: N815 -- JSON Schema's name
    anyOf: list[WholeSchema] | None = None  # type: ignore[assignment] # noqa: N815 -- narrower, only read; JSON Schema's name


class WholeParams(ToolParams):
    """The same for all parameters of a tool."""

    model_config = ConfigDict(extra="allow")

    # Narrower than Inspect's own field, as in `WholeSchema`, and read alone as well.
    properties: dict[str, WholeSchema] = Field(default_factory=dict)  # type: ignore[assignment] # narrower than Inspect's, and only read
    additionalProperties: WholeSchema | bool | None = None  # noqa: N815 -- JSON Schema's name


def info(schema: ToolSchema) -> ToolInfo:
    """A tool as Inspect offers it to a model: its schema unchanged."""
    return ToolInfo(
        name=schema.name,
        description=schema.description,
        parameters=WholeParams.model_validate(schema.parameters),
    )
