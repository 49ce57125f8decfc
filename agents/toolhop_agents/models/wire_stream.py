"""A completion as the events of a stream, in OpenAI's protocol, and back. Pure.

The text and the arguments of calls arrive in pieces, as from a model that writes them, so that a
client has to put them together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolhop_agents.models.wire_reading import Unreadable
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
    for name, value in message.items():
        if name in {"role", "content", "tool_calls"}:
            continue
        for piece in _pieces(value) if isinstance(value, str) else [value]:
            yield {name: piece}
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


# --- reading ---------------------------------------------------------------------------------


def assembled(text: str) -> dict[str, Any]:
    """The body that a response would have had if it were not streamed.

    Args:
        text: the whole stream, of either protocol. Comments and unknown events are passed over.

    Raises:
        Unreadable: it holds no reply, or ends before the reply does.
    """
    return joined(_events(text))


def joined(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The same of events that were read, as those of a client.

    Raises:
        Unreadable: see `assembled`; or some event has another shape than the protocol says.
    """
    try:
        return _joined(events)
    except (AttributeError, TypeError) as error:
        raise Unreadable(f"an event of the stream has another shape: {error}") from error


def _joined(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    message: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    finish_reason = None
    event: Mapping[str, Any] = {}
    for event in events:
        if event.get("error"):
            return dict(event)
        if event.get("type") == "error":  # the responses protocol's, with code and message
            return {"error": dict(event)}
        if str(event.get("type", "")) in _ENDS:
            whole = event.get("response")
            return whole if isinstance(whole, dict) else {}
        used = {name: figure for name, figure in (event.get("usage") or {}).items() if figure}
        body |= {name: part for name, part in event.items() if part and name != "choices"}
        body["usage"] = usage = {**usage, **used}  # Anthropic tells input first, output last
        for choice in event.get("choices") or ():
            finish_reason = choice.get("finish_reason") or finish_reason
            _add(message, choice.get("delta") or {})
    if finish_reason is None:
        last = event.get("type") or event.get("object") or "nothing"
        raise Unreadable(f"the stream ends before its reply does; the last event is {last}")
    if calls := message.get("tool_calls"):
        calls.sort(key=lambda call: call.get("index") or 0)
    return {**body, "choices": [{"message": message, "finish_reason": finish_reason}]}


_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""Events of the responses protocol that hold the whole response."""
MOST_PARTS = 128
"""Of a list, such as that of a reply's calls: a piece that none continues is compared with all."""
_WHOLE = frozenset({"id", "type", "role", "index", "name", "format", "signature"})
"""Fields of a delta that come whole; the pieces of other texts are joined."""


_LINE_END = re.compile(r"\r\n|\r|\n")
"""Of a stream of events; other ends of lines, such as U+2028, may stand in JSON as they are."""


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in _LINE_END.split(text):
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data and data != "[DONE]":
            event = json.loads(data)
            if isinstance(event, dict):
                yield event


def _add(whole: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a piece to a message, or to a part of one."""
    for name, piece in delta.items():
        before = whole.get(name)
        if isinstance(piece, list) or (piece and isinstance(before, list)):
            whole[name] = parts = _as_parts(before)
            _add_parts(parts, _as_parts(piece))
        elif isinstance(piece, dict) and isinstance(before, dict):
            _add(before, piece)
        elif isinstance(piece, str) and isinstance(before, str) and name not in _WHOLE:
            whole[name] = before + piece
        elif piece is not None:
            whole[name] = dict(piece) if isinstance(piece, dict) else piece


class _Parts(list[Any]):
    """A list that is put together; of its parts, those that pieces were added to."""

    def __init__(self, parts: Iterable[Any] = ()) -> None:
        super().__init__(parts)
        self.known: dict[tuple[object, ...], dict[str, Any]] = {}


def _as_parts(value: object) -> _Parts:
    """A list of parts; a text is one of them, where others come as lists (Mistral's content)."""
    if isinstance(value, list):
        return value if isinstance(value, _Parts) else _Parts(value)
    return _Parts([{"type": "text", "text": value}] if value else [])


def _add_parts(parts: _Parts, pieces: Iterable[Any]) -> None:
    """Add pieces of a list to the last of the parts that they continue."""
    for piece in pieces:
        if len(parts) > MOST_PARTS:
            raise Unreadable(f"a list in the stream has more than {MOST_PARTS} parts")
        if not isinstance(piece, dict):
            parts.append(piece)
            continue
        key = piece.get("type"), piece.get("index"), _begun(piece)
        same = parts.known.get(key)
        if same is None or not _continues(piece, same, last=parts[-1]):
            others = (part for part in reversed(parts) if isinstance(part, dict))
            same = next((part for part in others if _continues(piece, part, last=parts[-1])), None)
        if same is None:
            parts.append(same := {})
            parts.known.clear()  # pieces go to the last part that they fit
        parts.known[key] = same
        _add(same, piece)


def _begun(piece: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- whatever a server sends as an id
    """The id of the call that starts with this piece; falsy if the piece continues a call."""
    return (piece.get("function") or {}).get("name") and piece.get("id")


def _continues(piece: Mapping[str, Any], part: Mapping[str, Any], *, last: object) -> bool:
    """Whether a piece belongs to a part: by its index, and its type or id where that differs."""
    if piece.get("type", part.get("type")) != part.get("type"):
        return False
    if piece.get("index") is None:  # texts of thoughts, one after the other; a signature ends each
        texts = part.keys() & {"thinking", "text", "summary"}
        return part is last and bool(texts) and not part.get("signature")
    # Google's endpoint gives each call of a reply the index 0, whole and with an id of its own.
    other = (begun := _begun(piece)) and part.get("id") not in {None, begun}
    return piece["index"] == part.get("index") and not other
