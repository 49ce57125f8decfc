"""Which servers are trusted: reading the certificates takes longer than asking a near server."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def trusted() -> ssl.SSLContext:
    """What httpx trusts (`SSL_CERT_FILE` or `SSL_CERT_DIR`, else certifi's), read once."""
    return httpx.create_ssl_context()
