"""Which requests a server of this machine answers: those that are meant for it. Pure."""

from __future__ import annotations

from collections.abc import Set
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
REFUSED = "this server is not asked under that name or from that page"


def is_own(host: str, origin: str | None, hosts: Set[str] = LOOPBACK) -> bool:
    """Whether a request is under a name of the server's own, and no page of another origin sends
    it: a browser's user would not know of it, and DNS can give any name this machine's address.

    Args:
        host: the header ``Host``; empty for none.
        origin: the header ``Origin``, which browsers send; None for none.
        hosts: the server's names.
    """
    names = [f"//{host}"] if origin is None else [f"//{host}", origin]
    return all(_hostname(one) in hosts for one in names)


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
