"""A completion as the events of a stream, in OpenAI's protocol. Pure.

The text and the arguments of calls arrive in pieces, as from a model that writes them, so that a
client has to put them together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from toolhop_sandbox.outcome import JSON

PIECE_CHARS = 16
"""Characters of text or arguments an event; a model writes about four a token."""
DONE = b"data: [DONE]\n\n"
KIND = "text/event-stream"


def events(completion: Mapping[str, JSON], *, with_usage: bool) -> Iterator[bytes]:
    """The server-sent events of a completion, the last one included.

    Args:
        completion: the body of a response that is not streamed, with at most one choice.
        with_usage: end with an event that has no choice and the usage, as a request asks by
            ``stream_options.include_usage``.
    """
    for chunk in chunks(completion, with_usage=with_usage):
        yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
    yield DONE


def chunks(completion: Mapping[str, JSON], *, with_usage: bool) -> Iterator[dict[str, JSON]]:
    """The bodies of these events, in order; see `events`."""
    body: Any = completion
    head = {name: body[name] for name in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    if with_usage:
        head["usage"] = None
    for choice in body["choices"]:
        for delta in _deltas(choice["message"]):
            yield head | {"choices": [_choice(delta)]}
        yield head | {"choices": [_choice({}) | {"finish_reason": choice["finish_reason"]}]}
    if with_usage:
        yield head | {"choices": [], "usage": body["usage"]}


def _choice(delta: JSON) -> dict[str, JSON]:
    return {"index": 0, "delta": delta, "finish_reason": None}


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, JSON]]:
    yield {"role": message["role"], "content": "" if message["content"] is not None else None}
    for piece in _pieces(message["content"] or ""):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        begun = {**call, "index": index, "function": {**function, "arguments": ""}}
        yield {"tool_calls": [begun]}
        for piece in _pieces(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]
