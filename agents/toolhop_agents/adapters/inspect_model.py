"""Inspect's model as the agent of an episode: our loop runs, Inspect keeps the conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

# Approval and transcript events have no public names for code with its own agent loop.
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
    """A `Model` that records the conversation in a sample's state, and an `Approver` that
    applies Inspect's approval policy.
    """

    def __init__(self, state: TaskState) -> None:
        """Start from the prompt, which is in the state's messages."""
        self._state = state
        self._model = get_model()

    @property
    def name(self) -> str:
        """The name as given in ``--model``."""
        return str(self._model)

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Reply:
        """See `toolhop_agents.models.base.Model`. Retries are Inspect's.

        Raises:
            ConversationTooLong: the messages do not fit the model's context.
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
        """See `toolhop_env.responders.Approver`. Without a policy every call runs.

        Raises:
            TerminateSampleError: the policy ends the sample.
            RuntimeError: the policy changes a call, but only the model's own calls can be scored.
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
    """Add a call to the sample's transcript as a ``tool`` event. Other events are ignored."""
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
    """Convert a message to Inspect's form.

    Feedback on a failed call is plain text, without Inspect's ``error``: providers mark or reword
    errors in their own ways, but feedback levels compare exactly what the model sees.
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
    """Return the model's own message, reasoning included, with the calls of our conversation."""
    if not isinstance(kept, ChatMessageAssistant) or not kept.tool_calls:
        return kept
    # In the text format calls are text; otherwise our ids are unique.
    calls = [replace(one, id=raw.id)
             for one, raw in zip(kept.tool_calls, shown.calls, strict=False)]  # fmt: skip
    return kept.model_copy(update={"tool_calls": calls or None})


def as_reply(output: ModelOutput) -> Reply:
    """Convert a model's output to a reply."""
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
    """Return the readable part of the thoughts. Inspect sends the original message back."""
    parts = message.content if isinstance(message.content, list) else []
    thoughts = [part for part in parts if isinstance(part, ContentReasoning)]
    told = (part.summary if part.redacted else part.reasoning for part in thoughts)
    return Thoughts("\n".join(filter(None, told))) if thoughts else None


_BEFORE, _AFTER = "call arguments:\n\n", "\n\nError details: "


def _arguments(call: ToolCall) -> str:
    """Return the arguments as text. For unparsable ones, extract it from Inspect's error
    message.
    """
    if call.parse_error is None:
        return json.dumps(call.arguments, ensure_ascii=False)
    _, found, rest = call.parse_error.partition(_BEFORE)
    text, _, _ = rest.rpartition(_AFTER)
    return text if found and text else call.parse_error


class WholeSchema(JSONSchema):
    """A schema with all its keywords. Inspect's own class drops unknown ones."""

    model_config = ConfigDict(extra="allow")

    items: WholeSchema | None = None
    # mypy forbids narrower dict and list types than in the base class, since somebody could insert
    # a plain schema; but these are only read. The names are JSON Schema's.
    properties: dict[str, WholeSchema] | None = None  # type: ignore[assignment] # narrower than Inspect's, and only read
    additionalProperties: WholeSchema | bool | None = None  # noqa: N815 -- JSON Schema's name
    anyOf: list[WholeSchema] | None = None  # type: ignore[assignment] # noqa: N815 -- narrower, only read; JSON Schema's name


class WholeParams(ToolParams):
    """Like `WholeSchema`, for all parameters of a tool."""

    model_config = ConfigDict(extra="allow")

    # Narrower than Inspect's own field and only read, as in `WholeSchema`.
    properties: dict[str, WholeSchema] = Field(default_factory=dict)  # type: ignore[assignment] # narrower than Inspect's, and only read
    additionalProperties: WholeSchema | bool | None = None  # noqa: N815 -- JSON Schema's name


def info(schema: ToolSchema) -> ToolInfo:
    """Return a tool in Inspect's form, with its schema unchanged."""
    return ToolInfo(
        name=schema.name,
        description=schema.description,
        parameters=WholeParams.model_validate(schema.parameters),
    )
