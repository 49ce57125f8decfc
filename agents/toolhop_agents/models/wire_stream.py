"""Convert a chat completion to stream events, and back. Pure.

Texts and call arguments are split into pieces, as by a real model, so that clients have to join
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolhop_agents.models.wire_reading import Unreadable
from toolhop_sandbox.outcome import JSON

PIECE_CHARS = 16
"""Characters of text or arguments per event; a token has about four."""
DONE = b"data: [DONE]\n\n"
KIND = "text/event-stream"


def events(completion: Mapping[str, JSON], *, with_usage: bool) -> Iterator[bytes]:
    """Yield the server-sent events of a completion, including the final ``[DONE]``.

    Args:
        completion: body of a non-streamed response with at most one choice.
        with_usage: add an event with the usage and no choices, as requested by
            ``stream_options.include_usage``.
    """
    for chunk in chunks(completion, with_usage=with_usage):
        yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
    yield DONE


def chunks(completion: Mapping[str, JSON], *, with_usage: bool) -> Iterator[dict[str, JSON]]:
    """Yield the bodies of the events, in order; see `events`."""
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
    """Return the body of the equivalent non-streamed response.

    Args:
        text: the whole stream, in either protocol. Comments and unknown events are ignored.

    Raises:
        Unreadable: it contains no reply, or ends before the reply does.
    """
    return joined(_events(text))


def joined(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Like `assembled`, from parsed events, for example those of a client.

    Raises:
        Unreadable: see `assembled`; or an event is malformed.
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
        if event.get("type") == "error":  # of the responses protocol, with code and message
            return {"error": dict(event)}
        if str(event.get("type", "")) in _ENDS:
            whole = event.get("response")
            return whole if isinstance(whole, dict) else {}
        used = {name: figure for name, figure in (event.get("usage") or {}).items() if figure}
        body |= {name: part for name, part in event.items() if part and name != "choices"}
        body["usage"] = usage = {**usage, **used}  # Anthropic reports input first, output last
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
"""Events of the responses protocol that contain the complete response."""
MOST_PARTS = 128
"""Maximum number of parts in a list, such as a reply's calls: a piece that starts a new part is
first compared with all of them."""
_WHOLE = frozenset({"id", "type", "role", "index", "name", "format", "signature"})
"""String fields of a delta that arrive whole; all others arrive in pieces to be joined."""


_LINE_END = re.compile(r"\r\n|\r|\n")
"""Line ends in event streams. Others, such as U+2028, may occur unescaped in JSON."""


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in _LINE_END.split(text):
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data and data != "[DONE]":
            event = json.loads(data)
            if isinstance(event, dict):
                yield event


def _add(whole: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Merge a piece into a message, or into a part of one."""
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
    """A list under construction, with the parts that have received pieces."""

    def __init__(self, parts: Iterable[Any] = ()) -> None:
        super().__init__(parts)
        self.known: dict[tuple[object, ...], dict[str, Any]] = {}


def _as_parts(value: object) -> _Parts:
    """Return the value as a list of parts; a text counts as one (Mistral's content may be
    either).
    """
    if isinstance(value, list):
        return value if isinstance(value, _Parts) else _Parts(value)
    return _Parts([{"type": "text", "text": value}] if value else [])


def _add_parts(parts: _Parts, pieces: Iterable[Any]) -> None:
    """Merge pieces into the parts that they continue, latest first, or append them as new parts."""
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
            parts.known.clear()  # pieces belong to the last part that they fit
        parts.known[key] = same
        _add(same, piece)


def _begun(piece: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- whatever a server sends as an id
    """Return the id of the call that this piece begins; falsy if it continues a call."""
    return (piece.get("function") or {}).get("name") and piece.get("id")


def _continues(piece: Mapping[str, Any], part: Mapping[str, Any], *, last: object) -> bool:
    """Whether a piece belongs to a part, by type, index and id; without an index, only the last
    part can match.
    """
    if piece.get("type", part.get("type")) != part.get("type"):
        return False
    if piece.get("index") is None:  # texts of thoughts in sequence, each ended by a signature
        texts = part.keys() & {"thinking", "text", "summary"}
        return part is last and bool(texts) and not part.get("signature")
    # Google's endpoint sends every call whole, with index 0 and its own id.
    other = (begun := _begun(piece)) and part.get("id") not in {None, begun}
    return piece["index"] == part.get("index") and not other
