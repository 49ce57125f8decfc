"""Size limits on responses, against servers that never stop or send decompression bombs."""

from __future__ import annotations

import codecs
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import cache
from typing import Any, cast

import httpx

TOKEN_BYTES = 512
"""Bytes allowed per token, including its stream framing (about 250 at OpenAI and vLLM)."""
LEAST_BYTES = 2**20
UNLIMITED_TOKENS = 2**17
"""Token limit assumed for a request without one."""
FIX = "see what answers there; if the reply is right, raise --max-tokens"
MARK_BYTES = 8
"""Minimum number of bytes per comma, bracket or brace: ``[],[],[]`` takes 30 times its size in
memory once it is parsed."""
LEAST_PARTS, TOKEN_PARTS = 2**13, 8
"""Lists and objects allowed in any reply, plus those allowed per token; clients use kilobytes for
each."""
LINE_MARKS, STREAM_LINES = 4, 8
"""Allowed per token, in addition to `LEAST_PARTS`: commas, brackets and braces in one line of a
stream (which may be a whole reply), and lines of a stream (an event has two or three)."""
STEP_BYTES = 2**16
"""Bytes decompressed at a time, so that a decompression bomb is caught before it fills the
memory."""


_MARKS = (b",", b"[", b"{")


class BadBody(Exception):
    """A response body cannot be read."""


class TooLarge(BadBody):
    """A response body is larger than any reply within the token limit."""

    def __init__(self, limit: int, unit: str = "bytes") -> None:
        super().__init__(f"the reply has more than {limit:,} {unit}")


def reply_limit(max_tokens: int | None) -> int:
    """Return the maximum size of a response body in bytes, after decompression."""
    return LEAST_BYTES + TOKEN_BYTES * (max_tokens or UNLIMITED_TOKENS)


def check_parts(body: object, max_tokens: int | None) -> None:
    """Check that a reply is not a flood of small parts, such as empty calls.

    Args:
        body: the parsed JSON.
        max_tokens: the token limit of the request.

    Raises:
        TooLarge: more lists and objects than a reply of `max_tokens` can have.
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
    """Return the `TooLarge` in the chain of causes of `error`, if any."""
    while error is not None:
        if isinstance(error, TooLarge):
            return error
        error = error.__cause__ or error.__context__
    return None


def event_hooks(limit_bytes: int) -> dict[str, list[Callable[..., Awaitable[None]]]]:
    """Return hooks for an `httpx.AsyncClient` that limit each decompressed body to `limit_bytes`,
    with at most one comma, bracket or brace per `MARK_BYTES`.

    Reading a larger body raises `TooLarge`, at once if Content-Length already exceeds the limit.
    """

    async def bounded(response: httpx.Response) -> None:
        bound(response, limit_bytes)

    return {"request": [ask_unpacked], "response": [bounded]}


async def ask_unpacked(request: httpx.Request) -> None:
    """Ask the server for an uncompressed response."""
    request.headers["accept-encoding"] = "identity"


def bound(response: httpx.Response, limit_bytes: int) -> None:
    """Limit the size of a response body that has not been read yet.

    Args:
        response: a response of an async client of httpx, or of httpx2, used by openai 3.
        limit_bytes: maximum size of the decompressed body.

    Raises:
        TooLarge: Content-Length exceeds the limit.
        BadBody: the body has an unrequested encoding other than gzip or deflate.
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
    """Limit a stream of events, for a client that uses kilobytes for each small part.

    Reading raises `TooLarge` if a line has more parts, or the stream more lines, than `max_tokens`
    can need.
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
    # Adding 32 makes zlib detect gzip and zlib headers.
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
        yield unpack.flush()  # less than a step: the decompressor's remaining output


_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}
"""Characters that JSON may contain unescaped. httpx treats them as line ends; event streams do
not."""


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
    """Return a stream class derived from that of `library`, which accepts only its own."""
    base: Any = sys.modules[library].AsyncByteStream

    class Bounded(base):  # type: ignore[misc] # the library, and so the class, is known at run time
        def __init__(self, whole: httpx.AsyncByteStream, parts: AsyncIterator[bytes]) -> None:
            self._whole, self._parts = whole, parts

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._parts

        async def aclose(self) -> None:
            await self._whole.aclose()

    return Bounded
