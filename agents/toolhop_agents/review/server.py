"""The page for one reviewer, served on this machine's loopback to whoever has its address.

The address has a token that nobody can guess, so that neither another user of this machine nor a
page of another origin can read items or give a verdict. The server knows what its own reviewer
said and sends nothing of anybody else.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socketserver
import sys
import threading
from collections.abc import Callable
from functools import partial
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from toolhop_agents.construct.reviews import Material, ReviewError
from toolhop_agents.report.parts import asset, hash_source, one_line, scoped
from toolhop_agents.review.session import ReviewSession
from toolhop_agents.review.shown import item_shown, listed, word
from toolhop_sandbox.outcome import JSON
from toolhop_tools.construct.reviews import Ruling

SCRIPTS = ("dom.js", "text.js", "colours.js")
"""Of the report; then comes the page's own."""
PACKAGE = "toolhop_agents.review"
MOST_BYTES = 64 * 1024
"""Of a verdict's request."""


class ReviewServer:
    """Serves one reviewer's page while its context is open."""

    def __init__(
        self,
        session: ReviewSession,
        *,
        port: int = 0,
        on_verdict: Callable[[], None] = lambda: None,
    ) -> None:
        """Bind to a port.

        Args:
            session: the reviewer's.
            port: of 127.0.0.1; a free one where 0.
            on_verdict: is called after each verdict, in the server's thread.

        Raises:
            OSError: the port cannot be had.
        """
        self.session = session
        self.token = secrets.token_urlsafe(18)
        self.on_verdict = on_verdict
        self.lock = threading.Lock()
        self.page, self.policy = page_of(session.material)
        self._http = _HTTPServer(self, port)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.05,), name="review", daemon=True
        )

    @property
    def port(self) -> int:
        """Of 127.0.0.1."""
        return self._http.server_port

    @property
    def address(self) -> str:
        """What is opened in a browser."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def state(self) -> dict[str, JSON]:
        """What the page begins with."""
        session = self.session
        return {
            "folder": session.material.folder.name,
            "reviewer": session.reviewer,
            "settling": session.settles,
            "items": listed(session.material, session.said),
            "queue": [item.id for item in session.items],
        }


def page_of(material: Material) -> tuple[bytes, str]:
    """The page without any item, and its content security policy."""
    script, theme = scoped(SCRIPTS, asset("review.js", PACKAGE)), asset("theme.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {hash_source(theme)} {hash_source(script)}",
            "style-src 'unsafe-inline'",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    page = asset("review.html", PACKAGE)
    for mark, text in (
        ("title", escape(one_line(f"Review of {material.folder.name}"))),
        ("style", asset("style.css") + asset("review.css", PACKAGE)),
        ("theme", theme),
        ("script", script),
    ):
        page = page.replace(f"<!--{mark}-->", text)
    return page.encode(), policy


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, review: ReviewServer, port: int) -> None:
        super().__init__(("127.0.0.1", port), partial(_Handler, review))

    def server_bind(self) -> None:
        # Without HTTPServer's look-up of the host's name, which can take seconds offline.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver types it so
        # A browser that closes a connection is no news.
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    wbufsize = -1  # head and body leave together

    def __init__(self, review: ReviewServer, *rest: Any) -> None:  # noqa: ANN401 - socketserver types it so
        self._review = review
        super().__init__(*rest)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - BaseHTTPRequestHandler names it so
        """Nothing: stderr belongs to the program."""

    def _path(self) -> str | None:
        """What follows the token; None where the request is not the reviewer's."""
        hosts = {f"127.0.0.1:{self._review.port}", f"localhost:{self._review.port}"}
        _, token, *rest = [*self.path.partition("?")[0].split("/", 2), ""][:3]
        known = hmac.compare_digest(token.encode(), self._review.token.encode())
        if not known or self.headers.get("Host") not in hosts:
            self._send(404, {"error": "there is nothing here: open the address as it was printed"})
            return None
        return rest[0]

    def do_GET(self) -> None:
        """The page, the list of items, or one item by its id."""
        path = self._path()
        if path is None:
            return
        session = self._review.session
        if path == "":
            self._send_raw(200, self._review.page, "text/html; charset=utf-8")
        elif path == "state":
            with self._review.lock:
                self._send(200, self._review.state())
        elif path.startswith("item/") and path[5:].isdecimal() and len(path) < 15:
            at = int(path[5:])
            if at < len(session.material.items):
                self._send(200, item_shown(session.material, session.material.items[at]))
            else:
                self._send(404, {"error": f"there is no item {at}"})
        else:
            self._send(404, {"error": "no such address"})

    def do_POST(self) -> None:
        """Take a verdict; it is on the disk before it is answered."""
        size = self.headers.get("Content-Length") or "0"
        if not (size.isascii() and size.isdecimal() and len(size) < 10 and int(size) <= MOST_BYTES):
            self.close_connection = True
            self._send(413, {"error": f"a verdict has a stated length, {MOST_BYTES} bytes at most"})
            return
        raw = self.rfile.read(int(size))
        path = self._path()
        if path is None:
            return
        if path != "verdict":
            self._send(404, {"error": "no such address"})
            return
        try:
            row = json.loads(raw)
            given = str(row["item"]), Ruling(row["ruling"]), str(row.get("reason", ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._send(400, {"error": "no verdict: item, ruling and reason are wanted"})
            return
        try:
            with self._review.lock:
                found = self._review.session.say(*given)
        except ValueError as error:
            self._send(400, {"error": str(error)})
        except ReviewError as error:
            self._send(500, {"error": str(error)})
        else:
            self._send(200, word(found))
            self._review.on_verdict()

    def _send(self, status: int, body: JSON) -> None:
        self._send_raw(status, json.dumps(body).encode(), "application/json")

    def _send_raw(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", self._review.policy),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
