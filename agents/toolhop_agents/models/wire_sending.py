"""Convert messages and replies to OpenAI's chat-completions JSON. Pure.

Lone surrogates, which UTF-8 cannot encode, are sent as U+FFFD; the trace keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from toolhop_env.messages import (
    AssistantMessage,
    Message,
    RawCall,
    Reply,
    SystemMessage,
    Thoughts,
    ToolMessage,
    UserMessage,
)
from toolhop_sandbox.outcome import JSON


def messages_to_wire(
    messages: Sequence[Message], *, objects_only: bool = False
) -> list[dict[str, JSON]]:
    """Return the ``messages`` of a request.

    Args:
        messages: the conversation.
        objects_only: send arguments that are not a JSON object as ``{"unparsed": TEXT}``. OpenAI
            accepts any text; servers that parse earlier calls refuse it.
    """
    return [_message_to_wire(message, objects_only) for message in messages]


def _message_to_wire(message: Message, objects_only: bool) -> dict[str, JSON]:
    match message:
        case SystemMessage() | UserMessage():
            return {"role": message.role, "content": message.content}
        case ToolMessage():
            return {
                "role": "tool",
                "tool_call_id": message.call_id,
                "content": message.content,
            }
        case AssistantMessage():
            return _spoken_to_wire(message, objects_only)
        case _:
            assert_never(message)


def _spoken_to_wire(message: AssistantMessage, objects_only: bool) -> dict[str, JSON]:
    """Convert a reply, with its thoughts in their original fields."""
    thoughts = message.thoughts or Thoughts()
    sent: dict[str, JSON] = {"role": "assistant", "content": message.content, **thoughts.fields}
    if not message.calls:
        return sent
    calls: list[JSON] = [_call_to_wire(call, objects_only) for call in message.calls]
    beside = thoughts.of_calls if len(thoughts.of_calls) == len(calls) else ({},) * len(calls)
    merged = [_merged(call, dict(extra)) for call, extra in zip(calls, beside, strict=True)]
    return {**sent, "content": message.content or None, "tool_calls": merged}


def _merged(one: JSON, other: JSON) -> JSON:
    """Merge two objects recursively; values of the first take precedence."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return one
    both = {name: _merged(one[name], other[name]) for name in one.keys() & other.keys()}
    return {**one, **other, **both}


def _call_to_wire(call: RawCall, objects_only: bool) -> dict[str, JSON]:
    text = call.arguments
    if objects_only and not _is_object(text):
        text = json.dumps({"unparsed": text}, ensure_ascii=False)
    function: dict[str, JSON] = {"name": call.name, "arguments": text}
    return {"id": call.id, "type": "function", "function": function}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def has_unparsed(messages: Sequence[Message]) -> bool:
    """Whether any call in the conversation has arguments that are not a JSON object."""
    return any(
        not _is_object(call.arguments)
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.calls
    )


def reply_to_wire(reply: Reply, *, model: str, id: str) -> dict[str, JSON]:  # noqa: A002 - the field's name in the OpenAI protocol
    """Return the body of a chat completion with this reply."""
    said = AssistantMessage(reply.content, reply.calls, reply.thoughts)
    message = _message_to_wire(said, objects_only=False)
    used = reply.usage
    usage: dict[str, JSON] = {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens + used.output_tokens,
    }
    if used.cost_usd is not None:
        usage["cost"] = used.cost_usd
    if used.prompt_cached_tokens:
        usage["prompt_tokens_details"] = {"cached_tokens": used.prompt_cached_tokens}
    if used.reasoning_tokens:
        usage["completion_tokens_details"] = {"reasoning_tokens": used.reasoning_tokens}
    finish = reply.finish_reason or ("tool_calls" if reply.calls else "stop")
    choice: dict[str, JSON] = {"index": 0, "message": message, "finish_reason": finish}
    return {
        "id": id,
        "object": "chat.completion",
        "created": 0,
        "model": reply.model or model,
        "choices": [choice],
        "usage": usage,
    }


def plain_message(message: Message, arguments: Callable[[str], object]) -> dict[str, Any]:
    """Return a message without thoughts, in the form of chat templates and trainers.

    Args:
        message: a message of a conversation.
        arguments: parses the text of a call's arguments.
    """
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    if isinstance(message, ToolMessage):
        plain |= {"tool_call_id": message.call_id, "name": message.name}
    elif isinstance(message, AssistantMessage) and message.calls:
        plain["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": arguments(call.arguments)},
            }
            for call in message.calls
        ]
    return plain


def sendable(value: JSON) -> JSON:
    """Return `value` with every lone surrogate replaced by U+FFFD, keys included."""
    if isinstance(value, str):
        return _sendable_text(value)
    if isinstance(value, Mapping):
        return {_sendable_text(key): sendable(entry) for key, entry in value.items()}
    if isinstance(value, Sequence):
        return [sendable(entry) for entry in value]
    return value


def _sendable_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        # Through UTF-16, so that two halves of a surrogate pair become one character.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
