"""TLS trust, and a check that a server answers at a model's address."""

from __future__ import annotations

import os
import ssl
from functools import cache

import anyio
import httpx

from toolhop_agents.models.base import ModelFault

LIMIT_S = 5.0
"""Seconds to wait. A server that accepts the connection but stays busy longer counts as running."""


@cache
def trusted() -> ssl.SSLContext:
    """Return httpx's default trust (`SSL_CERT_FILE` or `SSL_CERT_DIR`, else certifi), loaded
    once because loading takes longer than a request to a nearby server.
    """
    return httpx.create_ssl_context()


async def reach(model: str, address: str, flag: str = "--base-url") -> None:
    """Check that an API answers by requesting its list of models, which is free.

    A JSON answer or a request for a key counts as an API, whatever its status, since some servers
    have no list. Providers other than ``openai`` only have to answer at all.

    Args:
        model: ``PROVIDER/MODEL``.
        address: the model's base URL.
        flag: the option that sets `address`.

    Raises:
        ModelFault: nothing answers at the address, or something other than an API.
    """
    url = f"{address.rstrip('/')}/models"
    try:
        # Limits the whole exchange; httpx's limit is per read, so slow drips never reach it.
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
    """Return the response to a GET, without reading its body."""
    async with (
        httpx.AsyncClient(timeout=LIMIT_S, verify=trusted()) as client,
        client.stream("GET", url) as answer,
    ):
        return answer


def _cause(error: BaseException) -> str:
    """Return the operating system's reason for an error, else the library's message."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, ConnectionError) and found.errno:
            return os.strerror(found.errno)  # asyncio replaces strerror with its own text
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
        found = found.__cause__ or found.__context__
    return str(error) or type(error).__name__
