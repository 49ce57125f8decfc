"""Parse messages, tool schemas and replies in OpenAI's chat-completions JSON. Pure.

The provider's text is kept verbatim: a call's arguments are never parsed here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeGuard, cast

from toolhop_env.messages import (
    CUT_REASONS,
    MOST,
    PLAIN_THOUGHTS,
    AssistantMessage,
    Message,
    RawCall,
    Reply,
    ReplyTokens,
    SystemMessage,
    Thoughts,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema


class Unreadable(ValueError):
    """The JSON violates the protocol: no choices, no message, or an unknown role."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """The status that an error sent as a success should have had."""


def reply_from_wire(body: object, *, taken: Collection[str] = ()) -> Reply:
    """Return the first choice of a response as a reply.

    Args:
        body: the parsed response.
        taken: call ids of the conversation so far; a call that reuses one gets a new id.

    Raises:
        Unreadable: no choices, no message, or an error sent as a success.
    """
    if not isinstance(body, Mapping):
        raise Unreadable(f"a JSON object was expected, not {_shown(body)}")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise _instead(body, f"the response has no choices: {_shown(body)}")
    choice = choices[0]
    if choice.get("error"):  # OpenRouter, if the provider behind it failed midway.
        raise _instead(choice, "the choice carries an error")
    finish_reason = _text(choice.get("finish_reason"))
    message = choice.get("message")
    if message is None and finish_reason.lower() in CUT_REASONS:
        message = {}  # a reply cut off before its first text
    if not isinstance(message, Mapping):
        raise Unreadable(f"the choice has no message; it has {sorted(choice)}")
    return Reply(
        content=_content(message),
        calls=tuple(_with_ids(_calls(message), taken)),
        usage=_usage(body.get("usage")),
        model=_text(body.get("model")),
        finish_reason=finish_reason,
        thoughts=_thoughts(message),
        tokens=_tokens(body, choice),
    )


def _tokens(body: Mapping[str, object], choice: Mapping[str, object]) -> ReplyTokens | None:
    """Return the tokens that vLLM sends for ``return_token_ids``; None if there are none."""
    wrote, read = choice.get("token_ids"), body.get("prompt_token_ids")
    if not _are_ids(wrote):
        return None
    return ReplyTokens(tuple(read) if _are_ids(read) else (), tuple(wrote))


def _are_ids(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(one) is int for one in value)


def _instead(holder: Mapping[str, object], message: str) -> Unreadable:
    """Return the exception for a missing reply, with the provider's error if there is one."""
    error = holder.get("error")
    if not error:
        return Unreadable(message)
    code = error.get("code") if isinstance(error, Mapping) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    return Unreadable(f"an error in place of a reply: {_shown(error)}", status=status)


def messages_from_wire(raw: object) -> tuple[Message, ...]:
    """Return the conversation in a request, with tool messages' names looked up by call id.

    Raises:
        Unreadable: not a list of objects with known roles.
    """
    if not isinstance(raw, list):
        raise Unreadable(f"messages must be a list, not {_shown(raw)}")
    names: dict[str, str] = {}
    messages: list[Message] = []
    for entry in raw:
        message = _message_from_wire(entry, names)
        if isinstance(message, AssistantMessage):
            names |= {call.id: call.name for call in message.calls}
        messages.append(message)
    return tuple(messages)


def _message_from_wire(entry: object, names: Mapping[str, str]) -> Message:
    if not isinstance(entry, Mapping):
        raise Unreadable(f"a message must be an object, not {_shown(entry)}")
    content = _content(entry)
    match entry.get("role"):
        case "system" | "developer":
            return SystemMessage(content)
        case "user":
            return UserMessage(content)
        case "assistant":
            return AssistantMessage(content, tuple(_calls(entry)), _thoughts(entry))
        case "tool" | "function":
            id_ = _text(entry.get("tool_call_id"))
            return ToolMessage(id_, _text(entry.get("name")) or names.get(id_, ""), content)
        case role:
            raise Unreadable(f"role {role!r} is none of system, developer, user, assistant, tool")


def tools_from_wire(raw: object) -> tuple[ToolSchema, ...]:
    """Return the tools in a request; empty for null.

    Raises:
        Unreadable: not a list of function tools.
    """
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise Unreadable(f"tools must be a list, not {_shown(raw)}")
    return tuple(_tool_from_wire(entry) for entry in raw)


def _tool_from_wire(entry: object) -> ToolSchema:
    function = entry.get("function") if isinstance(entry, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise Unreadable(f"a tool must be a function with a name, not {_shown(entry)}")
    parameters = function.get("parameters")
    return ToolSchema(
        name=function["name"],
        description=_text(function.get("description")),
        parameters=parameters if isinstance(parameters, Mapping) else {},
    )


def _content(message: Mapping[str, object]) -> str:
    """Return the text of a message, or the refusal if it has no text."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(_part_text(part) for part in content)
    atomic = message.get("provider_specific_fields")  # where litellm puts unknown fields
    refusal = message.get("refusal") or (
        atomic.get("refusal") if isinstance(atomic, Mapping) else None
    )
    return _text(content) or _text(refusal)


def _part_text(part: object) -> str:
    if isinstance(part, Mapping):
        return _text(part.get("text")) or _text(part.get("refusal"))
    return _text(part)


def _calls(message: Mapping[str, object]) -> Iterator[RawCall]:
    """Yield the calls in order, with an empty id if the provider sent none."""
    entries = message.get("tool_calls")
    if isinstance(entries, list) and entries:
        yield from (_call_from_wire(entry) for entry in entries)
    elif isinstance(legacy := message.get("function_call"), Mapping):
        yield RawCall("", _text(legacy.get("name")), _verbatim(legacy.get("arguments")))


def _call_from_wire(entry: object) -> RawCall:
    if not isinstance(entry, Mapping):
        return RawCall("", "", _verbatim(entry))
    id_ = _text(entry.get("id"))
    own = entry.get(_OWN)
    if isinstance(own, Mapping) and (signature := _text(own.get("thought_signature"))):
        # litellm also appends the signature to the id, where it would always be sent back.
        id_ = id_.removesuffix(f"__thought__{signature}")
    kind = _text(entry.get("type")) or "function"
    # A call of a custom tool has `input` under `custom`; other types may follow suit.
    inner = entry.get("function") or entry.get(kind)
    if not isinstance(inner, Mapping):
        inner = entry
    arguments = inner["input"] if "input" in inner else inner.get("arguments")
    return RawCall(id_, _text(inner.get("name")), _verbatim(arguments))


THOUGHT_FIELDS = (
    "reasoning_content",  # DeepSeek, vLLM, SGLang, Moonshot, and litellm for all providers
    "reasoning",  # newer vLLM, Ollama, Groq, OpenRouter
    "reasoning_details",  # OpenRouter: summaries, encrypted blocks, signatures
    "thinking_blocks",  # litellm for Anthropic and Bedrock: text with its signature, or redacted
    "provider_specific_fields",  # litellm: signatures of Gemini, and unknown fields
    "extra_content",  # Google's own endpoint in OpenAI's protocol
)
"""Message fields that hold thoughts, with their senders."""
CALL_FIELDS = ("provider_specific_fields", "extra_content")
"""Call fields that hold the signature of the preceding thought. litellm also copies the first
into the call's function."""
_OWN = "provider_specific_fields"
_TOLD_ELSEWHERE = frozenset({"refusal", *THOUGHT_FIELDS})


def _thoughts(message: Mapping[str, object]) -> Thoughts | None:
    """Return the thoughts in a message, or None."""
    fields = _present(message, THOUGHT_FIELDS)
    own = fields.pop(_OWN, None)
    if isinstance(own, dict):
        fields = _as_sent(fields, own)
        told = {name: value for name, value in own.items() if name not in _TOLD_ELSEWHERE}
        if left := _present(told, tuple(told)):
            fields[_OWN] = left
    entries = message.get("tool_calls")
    calls = [_beside(entry) for entry in entries] if isinstance(entries, list) else []
    if calls:  # DeepSeek and Moonshot refuse calls without the field, even if it was empty
        fields |= {name: "" for name in PLAIN_THOUGHTS if message.get(name) == ""}
    if not fields and not any(calls):
        return None
    return Thoughts(_readable(fields), fields, tuple(calls) if any(calls) else ())


def _as_sent(fields: Mapping[str, JSON], own: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the fields under the provider's own names.

    litellm moves fields unknown to it, such as OpenRouter's ``reasoning_details``, into
    ``provider_specific_fields``, and adds a copy of ``reasoning`` under another name.
    """
    moved = _present(own, tuple(name for name in THOUGHT_FIELDS if name != _OWN))
    renamed = "reasoning" in moved and moved["reasoning"] == fields.get("reasoning_content")
    kept = {name: value for name, value in fields.items()
            if not (renamed and name == "reasoning_content")}  # fmt: skip
    return {**moved, **kept}


def _beside(call: object) -> dict[str, JSON]:
    """Return a call's `CALL_FIELDS`, including those of its function."""
    if not isinstance(call, Mapping):
        return {}
    found, function = _present(call, CALL_FIELDS), call.get("function")
    within = _present(function, CALL_FIELDS) if isinstance(function, Mapping) else {}
    return {**found, "function": within} if within else found


def _present(holder: Mapping[str, object], names: Sequence[str]) -> dict[str, JSON]:
    """Return the named fields that are not empty."""
    given = {name: holder.get(name) for name in names}
    return {name: cast("JSON", value) for name, value in given.items() if value not in _NOTHING}


_NOTHING: tuple[object, ...] = (None, "", [], {})


def _readable(fields: Mapping[str, JSON]) -> str:
    """Return the text of the thoughts, from the first field that has any."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(text := fields.get(name), str):
            return text
    for name in ("thinking_blocks", "reasoning_details"):
        blocks = fields.get(name)
        if isinstance(blocks, list):
            texts = [_block_text(block) for block in blocks]
            return "\n".join(filter(None, texts))
    return ""


def _block_text(block: JSON) -> str:
    if not isinstance(block, dict):
        return ""
    return next(filter(None, (_text(block.get(n)) for n in ("thinking", "text", "summary"))), "")


def _verbatim(arguments: object) -> str:
    """Return text unchanged, other values as JSON, and None as the empty string."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _with_ids(calls: Iterator[RawCall], taken: Collection[str]) -> Iterator[RawCall]:
    used, number = set(taken), 0
    for call in calls:
        id_ = call.id
        while not id_ or id_ in used:
            number += 1
            id_ = f"call_{number}"
        used.add(id_)
        yield RawCall(id_, call.name, call.arguments)


def _usage(raw: object) -> Usage:
    if not isinstance(raw, Mapping):
        return Usage()
    cost = raw.get("cost")
    if isinstance(cost, Mapping):  # Perplexity itemises.
        cost = cost.get("total_cost")
    return Usage(
        input_tokens=_count(raw.get("prompt_tokens", raw.get("input_tokens"))),
        output_tokens=_count(raw.get("completion_tokens", raw.get("output_tokens"))),
        cost_usd=float(cost) if _is_number(cost) else None,
        prompt_cached_tokens=_at_hand(raw),
        reasoning_tokens=_of_thoughts(raw),
    )


def _of_thoughts(usage: Mapping[str, object]) -> int:
    """Return the output tokens used for thoughts, from the fields of OpenAI's protocols or
    SGLang.
    """
    details = usage.get("completion_tokens_details", usage.get("output_tokens_details"))
    within = details.get("reasoning_tokens") if isinstance(details, Mapping) else None
    return _count(within) or _count(usage.get("reasoning_tokens"))


def _at_hand(usage: Mapping[str, object]) -> int:
    """Return the input tokens read from the provider's cache (OpenAI, Anthropic or DeepSeek
    fields).
    """
    details = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
    within = details.get("cached_tokens") if isinstance(details, Mapping) else None
    beside = usage.get("cache_read_input_tokens") or usage.get("prompt_cache_hit_tokens")
    return _count(within) or _count(beside)


def _count(value: object) -> int:
    return int(value) if _is_number(value) else 0


def _is_number(value: object) -> TypeGuard[int | float]:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value <= MOST  # false for nan
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _shown(value: object, limit: int = 300) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= limit else f"{text[:limit]}..."
