"""Which servers are trusted, and whether one answers at the address of a model."""

from __future__ import annotations

import os
import ssl
from functools import cache

import anyio
import httpx

from toolhop_agents.models.base import ModelFault

LIMIT_S = 5.0
"""A server that takes the connection and is busy for longer is there."""


@cache
def trusted() -> ssl.SSLContext:
    """What httpx trusts (`SSL_CERT_FILE` or `SSL_CERT_DIR`, else certifi's), read once: that takes
    longer than asking a near server.
    """
    return httpx.create_ssl_context()


async def reach(model: str, address: str, flag: str = "--base-url") -> None:
    """Ask for the list of models, which costs nothing.

    What answers in JSON, or asks for a key, is taken for an API, whatever it says: some have no
    list. Of providers other than ``openai`` nothing is known but that they have to answer.

    Args:
        model: ``PROVIDER/MODEL``.
        address: its ``--base-url``.
        flag: gives the address.

    Raises:
        ModelFault: nothing answers there, or something that is not an API; with the cause.
    """
    url = f"{address.rstrip('/')}/models"
    try:
        # Of the whole exchange: httpx's own limit is for each read, and a drip never reaches it.
        with anyio.fail_after(LIMIT_S):
            answer = await _head(url)
    except (httpx.ReadTimeout, httpx.PoolTimeout, TimeoutError):
        return
    except httpx.HTTPError as error:
        raise ModelFault(
            f"no server answers at {address}: {_cause(error)}\n  fix: start it, or give its {flag}",
            fatal=True,
        ) from error
    kind = answer.headers.get("content-type", "no content type")
    if model.startswith("openai/") and answer.status_code == httpx.codes.NOT_FOUND:
        if "json" in kind:
            return
        raise ModelFault(
            f"what answers at {address} is not an OpenAI API: "
            f"{url} gave {answer.status_code} ({kind})"
            f"\n  fix: give the {flag} of one; most end in /v1",
            fatal=True,
        )


async def _head(url: str) -> httpx.Response:
    """A response whose body stays unread, however long it is."""
    async with (
        httpx.AsyncClient(timeout=LIMIT_S, verify=trusted()) as client,
        client.stream("GET", url) as answer,
    ):
        return answer


def _cause(error: BaseException) -> str:
    """What the system says of it, below the words of the libraries; else theirs."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, ConnectionError) and found.errno:
            return os.strerror(found.errno)  # asyncio writes words of its own over it
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
        found = found.__cause__ or found.__context__
    return str(error) or type(error).__name__
