"""Replies of a server that never end, or that unpack to more than memory holds."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import httpx

TOKEN_BYTES = 512
"""Of a token, its frame in a stream included (about 250 at OpenAI and vLLM)."""
LEAST_BYTES = 2**20
UNLIMITED_TOKENS = 2**17
"""Taken for a request without a limit."""
FIX = "see what answers there; if the reply is right, raise --max-tokens"
STEP_BYTES = 2**16
"""Unpacked at a time, so that a small packed part cannot fill the memory before it is counted."""


class TooLarge(httpx.TransportError):
    """A body is larger than a reply of the tokens that are allowed can be."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"the reply has more than {limit_bytes:,} bytes")


def reply_limit(max_tokens: int | None) -> int:
    """Bytes that a reply's body may have, unpacked."""
    return LEAST_BYTES + TOKEN_BYTES * (max_tokens or UNLIMITED_TOKENS)


def too_large(error: BaseException | None) -> TooLarge | None:
    """What an error came of, where that is a body that is too large."""
    while error is not None:
        if isinstance(error, TooLarge):
            return error
        error = error.__cause__ or error.__context__
    return None


def event_hooks(limit_bytes: int) -> dict[str, list[Callable[..., Awaitable[None]]]]:
    """Of an `httpx.AsyncClient`: each body has `limit_bytes` at most, unpacked.

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

    Raises:
        TooLarge: by the length that is told.
        httpx.DecodingError: it is packed as nobody asked, and not by gzip or deflate.
    """
    told = response.headers.get("content-length", "")
    if told.isdecimal() and int(told) > limit_bytes:
        raise TooLarge(limit_bytes)
    packing = response.headers.pop("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip", "deflate"):
        raise httpx.DecodingError(
            f"the server packs its reply by {packing}, which nobody asked for"
        )
    if not isinstance(response.stream, httpx.AsyncByteStream):
        raise TypeError("the response is not of an asynchronous client")
    response.stream = _Bounded(response.stream, limit_bytes, packed=packing != "identity")


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, limit_bytes: int, *, packed: bool) -> None:
        self._stream, self._limit_bytes = stream, limit_bytes
        # 32 more than the largest window: with the head of gzip or of zlib.
        self._unpack = zlib.decompressobj(zlib.MAX_WBITS | 32) if packed else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            for part in self._parts(chunk):
                size += len(part)
                if size > self._limit_bytes:
                    raise TooLarge(self._limit_bytes)
                yield part

    def _parts(self, chunk: bytes) -> Iterator[bytes]:
        if self._unpack is None:
            yield chunk
            return
        try:
            while chunk:
                yield self._unpack.decompress(chunk, STEP_BYTES)
                chunk = self._unpack.unconsumed_tail
        except zlib.error as error:
            raise httpx.DecodingError(f"the reply cannot be unpacked: {error}") from error

    async def aclose(self) -> None:
        await self._stream.aclose()
