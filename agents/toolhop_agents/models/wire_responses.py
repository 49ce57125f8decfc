"""Convert requests and replies between OpenAI's responses protocol and chat completions. Pure.

Each request contains the whole conversation (``store`` is false), so nothing stays on the server.
Items of a response are sent back unchanged and in order: reasoning items are encrypted and belong
to the calls that follow them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from toolhop_agents.models.wire_reading import Unreadable, reply_from_wire
from toolhop_env.messages import Reply, Thoughts
from toolhop_sandbox.outcome import JSON

OUTPUT = "output"
"""The field of thoughts that holds a response's output items."""
NOT_TAKEN = frozenset({"seed", "stop", "n", "frequency_penalty", "presence_penalty"})
"""Chat parameters that the responses protocol lacks."""
RENAMED = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}

ENCRYPTED = ("reasoning.encrypted_content",)
"""Included in every request: without storage, thoughts are returned only in this form."""

LOOSE: dict[str, JSON] = {"type": "function", "strict": False}
"""Defaults for a tool's fields other than its function."""
Body = dict[str, JSON]


def request(chat: Mapping[str, Any]) -> Body:
    """Return the responses request equivalent to a chat request.

    Args:
        chat: body of the chat request. Its seed is dropped, since every request of a run has one.

    Raises:
        ValueError: a parameter has no equivalent.
    """
    body: Body = {"store": False, "include": [*ENCRYPTED]}
    for name, value in chat.items():
        match name:
            case "messages":
                body["input"] = [item for message in value for item in _items(message)]
            case "tools":
                # `strict` defaults to true, which would change schemas to fit strict mode.
                body["tools"] = [LOOSE | tool["function"] for tool in value]
            case "reasoning_effort":
                body["reasoning"] = {**chat.get("reasoning", {}), "effort": value}
            case "reasoning":  # such as a summary; kept alongside an effort
                body.setdefault("reasoning", value)
            case "include":
                body["include"] = [*dict.fromkeys([*ENCRYPTED, *value])]
            case "response_format":
                body["text"] = {"format": value}
            case "seed":
                pass
            case _ if name in NOT_TAKEN:
                raise ValueError(f"--api responses: the protocol has no {name}; leave it out")
            case _:
                body[RENAMED.get(name, name)] = value
    return body


def check_shapes(parameters: Mapping[str, JSON]) -> None:
    """Check that parameters to be merged with others have the right shape.

    Raises:
        ValueError: a parameter violates the protocol.
    """
    for name, shape, words in (("reasoning", dict, "object"), ("include", list, "list")):
        if not isinstance(parameters.get(name, shape()), shape):
            wrong = f"{name} is a JSON {words}, not {parameters[name]!r}"
            raise ValueError(f"--api responses: {wrong}")  # noqa: TRY004 -- wrong text in a flag is bad input, which commands catch as ValueError


def _items(message: Mapping[str, Any]) -> list[JSON]:
    """Convert a chat message to input items."""
    if message["role"] == "tool":
        return [
            {"type": "function_call_output", "call_id": message["tool_call_id"],
             "output": message["content"]}
        ]  # fmt: skip
    if isinstance(items := message.get(OUTPUT), list):
        # Unchanged, except for arguments wrapped because the server refused them.
        left = iter(message.get("tool_calls", ()))
        return [
            {**item, "arguments": next(left)["function"]["arguments"]}
            if item.get("type") == "function_call" else item
            for item in items
        ]  # fmt: skip
    items = []
    if message["content"]:
        items.append({"role": message["role"], "content": message["content"]})
    for call in message.get("tool_calls", ()):
        function = call["function"]
        items.append({"type": "function_call", "call_id": call["id"], **function})
    return items


def reply(body: object, *, taken: Collection[str] = ()) -> Reply:
    """Return the reply in a response.

    Args:
        body: the parsed response.
        taken: call ids of the conversation so far; a call that reuses one gets a new id.

    Raises:
        Unreadable: no output, an error instead of it, or malformed items.
    """
    try:
        return _reply(body, taken)
    except TypeError as error:
        raise Unreadable(f"an item of the response has another shape: {error}") from error


def _reply(body: object, taken: Collection[str]) -> Reply:
    if not isinstance(body, Mapping) or not isinstance(body.get(OUTPUT), list):
        raise Unreadable(f"the response has no output: {str(body)[:300]}")
    if body.get("error"):
        raise Unreadable(f"an error in place of a reply: {str(body['error'])[:300]}")
    items = [item for item in body[OUTPUT] if isinstance(item, Mapping)]
    calls = [item for item in items if item.get("type") == "function_call"]
    details = body.get("incomplete_details")
    cut = details.get("reason") if isinstance(details, Mapping) else None
    # Parse it as a chat message, so that the same rules apply to ids, text and usage.
    message = {
        "content": [part for item in items if item.get("type") == "message"
                    for part in item.get("content") or ()],
        "tool_calls": [
            {"id": item.get("call_id"), "function": {"name": item.get("name"),
                                                     "arguments": item.get("arguments")}}
            for item in calls
        ],
    }  # fmt: skip
    choice = {"message": message, "finish_reason": cut or ("tool_calls" if calls else "stop")}
    read = reply_from_wire({**body, "choices": [choice]}, taken=taken)
    thoughts = Thoughts(_readable(items), {OUTPUT: _renamed(items, [c.id for c in read.calls])})
    return Reply(read.content, read.calls, read.usage, model=read.model,
                 finish_reason=read.finish_reason, thoughts=thoughts)  # fmt: skip


def _renamed(items: Sequence[Mapping[str, Any]], ids: Sequence[str]) -> list[JSON]:
    """Return the items with the given call ids."""
    left = iter(ids)
    return [
        {**item, "call_id": next(left)} if item.get("type") == "function_call" else dict(item)
        for item in items
    ]


def _readable(items: Sequence[Mapping[str, Any]]) -> str:
    """Return the text and summaries of thoughts."""
    parts = [
        part
        for item in items
        if item.get("type") == "reasoning"
        for part in (*(item.get("content") or ()), *(item.get("summary") or ()))
    ]
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str) and text)


# --- server side: the reverse direction -------------------------------------------------------


def chat(request: Mapping[str, Any]) -> Body:
    """Return the chat request equivalent to a responses request.

    Args:
        request: body of the responses request. Thoughts in its input are dropped.

    Raises:
        Unreadable: it asks for a stream, relies on a stored conversation, or has items other than
            text, calls and their results.
    """
    given = request.get("input")
    if request.get("stream"):
        raise Unreadable("responses are not streamed here: leave stream out")
    if not isinstance(given, str | list) or request.get("previous_response_id"):
        raise Unreadable("send the whole conversation as input: nothing of it is kept here")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    messages: list[Any] = [{"role": "system", "content": request.get("instructions")}]
    for item in items:
        kind = item.get("type", "message") if isinstance(item, Mapping) else type(item).__name__
        match kind:
            case "message":
                messages.append({"role": item.get("role"), "content": item.get("content")})
            case "function_call":
                if messages[-1]["role"] != "assistant":
                    messages.append({"role": "assistant", "content": ""})
                call = {"id": item.get("call_id"), "type": "function", "function": item}
                messages[-1].setdefault("tool_calls", []).append(call)
            case "function_call_output":
                id_ = item.get("call_id")
                messages.append({"role": "tool", "tool_call_id": id_, "content": item.get(OUTPUT)})
            case "reasoning":
                pass
            case _:
                raise Unreadable(f"an item of the input is a {kind}, which is not read here")
    tools = request.get("tools")
    if isinstance(tools, list):
        tools = [{"type": "function", "function": tool} for tool in tools]
    start = 0 if request.get("instructions") else 1
    return {**request, "messages": messages[start:], "tools": tools}


def response(completion: Mapping[str, Any]) -> Body:
    """Return the responses body equivalent to a chat completion."""
    choice, used = completion["choices"][0], completion["usage"]
    message, calls = choice["message"], choice["message"].get("tool_calls") or ()
    said: Body = {"type": "output_text", "text": message["content"] or "", "annotations": []}
    done: Body = {"status": "completed"}
    output: list[JSON] = []
    if said["text"] or not calls:
        head = {"type": "message", "id": "msg_0", "role": "assistant"}
        output.append({**head, **done, "content": [said]})
    for number, call in enumerate(calls):
        head = {"type": "function_call", "id": f"fc_{number}", "call_id": call["id"]}
        output.append({**head, **done, **call["function"]})
    is_cut = choice["finish_reason"] == "length"
    return {
        "id": "resp_loopback",
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "error": None,
        "model": completion["model"],
        OUTPUT: output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": used["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0} | used.get("prompt_tokens_details", {}),
            "output_tokens": used["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0}
            | used.get("completion_tokens_details", {}),
            "total_tokens": used["total_tokens"],
        },
    }
