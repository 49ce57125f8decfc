"""Replies of a server that never end, or that unpack to more than memory holds."""

from __future__ import annotations

import codecs
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import cache
from typing import Any, cast

import httpx

TOKEN_BYTES = 512
"""Of a token, its frame in a stream included (about 250 at OpenAI and vLLM)."""
LEAST_BYTES = 2**20
UNLIMITED_TOKENS = 2**17
"""Taken for a request without a limit."""
FIX = "see what answers there; if the reply is right, raise --max-tokens"
MARK_BYTES = 8
"""Bytes for each comma, bracket and brace, at the least: ``[],[],[]`` takes 30 times its size in
memory once it is parsed."""
LEAST_PARTS, TOKEN_PARTS = 2**13, 8
"""Lists and objects that a reply may have, and as many more a token; clients make kilobytes of
each."""
LINE_MARKS, STREAM_LINES = 4, 8
"""A token, beside `LEAST_PARTS`: commas, brackets and braces of one line of a stream, which may be
a whole reply, and lines of a stream (an event has two or three)."""
STEP_BYTES = 2**16
"""Unpacked at a time, so that a small packed part cannot fill the memory before it is counted."""


_MARKS = (b",", b"[", b"{")


class BadBody(Exception):
    """A body that cannot be read."""


class TooLarge(BadBody):
    """A body is larger than a reply of the tokens that are allowed can be."""

    def __init__(self, limit: int, unit: str = "bytes") -> None:
        super().__init__(f"the reply has more than {limit:,} {unit}")


def reply_limit(max_tokens: int | None) -> int:
    """Bytes that a reply's body may have, unpacked."""
    return LEAST_BYTES + TOKEN_BYTES * (max_tokens or UNLIMITED_TOKENS)


def check_parts(body: object, max_tokens: int | None) -> None:
    """See that a reply is no flood of small parts, such as empty calls.

    Args:
        body: parsed from JSON.
        max_tokens: that were asked for.

    Raises:
        TooLarge: it has more lists and objects than a reply of so many tokens can have.
    """
    limit = LEAST_PARTS + TOKEN_PARTS * (max_tokens or UNLIMITED_TOKENS)
    left, count = [body], 0
    while left:
        part = left.pop()
        if isinstance(part, dict | list):
            left += part.values() if isinstance(part, dict) else part
            count += 1
            if count > limit:
                raise TooLarge(limit, "lists and objects")


def too_large(error: BaseException | None) -> TooLarge | None:
    """What an error came of, where that is a body that is too large."""
    while error is not None:
        if isinstance(error, TooLarge):
            return error
        error = error.__cause__ or error.__context__
    return None


def event_hooks(limit_bytes: int) -> dict[str, list[Callable[..., Awaitable[None]]]]:
    """Of an `httpx.AsyncClient`: each body has `limit_bytes` at most, unpacked, and one comma,
    bracket or brace in `MARK_BYTES` of them.

    Its reading raises `TooLarge` then, or at once where the length is told.
    """

    async def bounded(response: httpx.Response) -> None:
        bound(response, limit_bytes)

    return {"request": [ask_unpacked], "response": [bounded]}


async def ask_unpacked(request: httpx.Request) -> None:
    """Have a server send its reply as it is."""
    request.headers["accept-encoding"] = "identity"


def bound(response: httpx.Response, limit_bytes: int) -> None:
    """Put the limit before a response's body, which is not read yet.

    Args:
        response: of an asynchronous client of httpx, or of httpx2, which openai 3 is built on.
        limit_bytes: that the body may have, unpacked.

    Raises:
        TooLarge: by the length that is told.
        BadBody: it is packed as nobody asked, and not by gzip or deflate.
    """
    told = response.headers.get("content-length", "")
    if told.isdecimal() and int(told) > limit_bytes:
        raise TooLarge(limit_bytes)
    packing = response.headers.pop("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip", "deflate"):
        raise BadBody(f"the server packs its reply by {packing}, which nobody asked for")
    stream = cast("httpx.AsyncByteStream", response.stream)
    parts = _bounded(stream, limit_bytes, packed=packing != "identity")
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        parts = _escaped(parts)
    response.stream = _stream_class(type(response).__module__.partition(".")[0])(stream, parts)


def bound_lines(response: httpx.Response, max_tokens: int | None) -> None:
    """Put limits before a stream of events, for a client that makes kilobytes of each small part.

    Its reading raises `TooLarge` where a line has more parts, or the stream more lines, than
    `max_tokens` need.
    """
    stream = cast("httpx.AsyncByteStream", response.stream)
    response.stream = _stream_class(type(response).__module__.partition(".")[0])(
        stream, _lines_bounded(stream, max_tokens or UNLIMITED_TOKENS)
    )


async def _lines_bounded(stream: httpx.AsyncByteStream, tokens: int) -> AsyncIterator[bytes]:
    most_marks, most_lines = LEAST_PARTS + LINE_MARKS * tokens, LEAST_PARTS + STREAM_LINES * tokens
    marks = lines = 0
    async for part in stream:
        for line in part.splitlines(keepends=True):
            marks += sum(map(line.count, _MARKS))
            if marks > most_marks:
                raise TooLarge(most_marks, "commas, brackets and braces in a line")
            if line.endswith((b"\n", b"\r")):
                marks, lines = 0, lines + 1
        if lines > most_lines:
            raise TooLarge(most_lines, "lines")
        yield part


async def _bounded(
    stream: httpx.AsyncByteStream, limit_bytes: int, *, packed: bool
) -> AsyncIterator[bytes]:
    # 32 more than the largest window: with the head of gzip or of zlib.
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32) if packed else None
    size = marks = 0
    async for chunk in stream:
        for part in _unpacked(chunk, unpack) if unpack else (chunk,):
            size += len(part)
            if size > limit_bytes:
                raise TooLarge(limit_bytes)
            marks += sum(map(part.count, _MARKS))
            if marks > limit_bytes // MARK_BYTES:
                raise TooLarge(limit_bytes // MARK_BYTES, "commas, brackets and braces")
            yield part
    if unpack:
        yield unpack.flush()  # less than a step: what was held back at the last one's end


_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}
"""What JSON may hold as it is. httpx ends a line there, and a stream of events does not."""


async def _escaped(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    async for part in parts:
        yield decoder.decode(part).translate(_LINE_ENDS).encode("utf-8", "surrogateescape")
    yield decoder.decode(b"", final=True).encode("utf-8", "surrogateescape")


def _unpacked(chunk: bytes, unpack: zlib._Decompress) -> Iterator[bytes]:
    while chunk:
        try:
            yield unpack.decompress(chunk, STEP_BYTES)
        except zlib.error as error:
            raise BadBody(f"the reply cannot be unpacked: {error}") from error
        chunk = unpack.unconsumed_tail


@cache
def _stream_class(
    library: str,
) -> Callable[[httpx.AsyncByteStream, AsyncIterator[bytes]], httpx.AsyncByteStream]:
    """A body that the library reads: it asks for a class of its own."""
    base: Any = sys.modules[library].AsyncByteStream

    class Bounded(base):  # type: ignore[misc] # the library, and so the class, is known at run time
        def __init__(self, whole: httpx.AsyncByteStream, parts: AsyncIterator[bytes]) -> None:
            self._whole, self._parts = whole, parts

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._parts

        async def aclose(self) -> None:
            await self._whole.aclose()

    return Bounded
