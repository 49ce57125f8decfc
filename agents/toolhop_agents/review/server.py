"""Serve one reviewer's page on the loopback interface to anyone who has its address.

The address contains an unguessable token, so that neither another user of this machine nor a page
of another origin can read items or give a verdict. The server knows only its own reviewer's
reviews, and sends the hidden parts of a case only after an answer.
"""

from __future__ import annotations

import hmac
import secrets
import socketserver
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, quote
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from toolhop_agents.construct.reviews import ReviewError
from toolhop_agents.review.page import POLICY, page
from toolhop_agents.review.session import ReviewSession
from toolhop_sandbox.errors import SandboxError
from toolhop_tools.construct.reviews import Ruling

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

MOST_BYTES = 64 * 1024
"""Maximum size of a request's body, in bytes."""
POSTS = ("call", "answer", "verdict")
HEADERS = (
    ("Content-Type", "text/html; charset=utf-8"),
    ("Content-Security-Policy", POLICY),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
)


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

        `port` is a port of 127.0.0.1, or 0 for a free one; `on_verdict` is called after each
        verdict, in a server thread.

        Raises:
            OSError: the port is not available.
        """
        self.session = session
        self.token = secrets.token_urlsafe(18)
        self.on_verdict = on_verdict
        self._lock = threading.Lock()
        self._http = make_server("127.0.0.1", port, self._app, _Server, _Handler)
        self._hosts = {f"{name}:{self._http.server_port}" for name in ("127.0.0.1", "localhost")}
        self.address = f"http://127.0.0.1:{self._http.server_port}/{self.token}/"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _app(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        with self._lock:
            status, text, item = self._reply(environ)
        query = f"?item={quote(item)}" if item else ""
        moved = [("Location", f"/{self.token}/{query}")] if status.startswith("303") else []
        body = text.encode("utf-8", "replace")
        start_response(status, [*HEADERS, ("Content-Length", str(len(body))), *moved])
        return [body]

    def _reply(self, environ: WSGIEnvironment) -> tuple[str, str, str]:
        """Return the status, the page, and the item to show next."""
        _, token, *rest = [*environ["PATH_INFO"].split("/", 2), ""][:3]
        is_known = hmac.compare_digest(token.encode(), self.token.encode())
        wanted = POSTS if environ["REQUEST_METHOD"] == "POST" else ("",)
        if not is_known or environ.get("HTTP_HOST") not in self._hosts or rest[0] not in wanted:
            nothing = "there is nothing here: open the address as it was printed"
            return "404 Not Found", nothing, ""
        size = environ.get("CONTENT_LENGTH") or "0"
        if not (size.isdecimal() and len(size) < 10 and int(size) <= MOST_BYTES):
            return "413 Content Too Large", f"at most {MOST_BYTES} bytes", ""
        body = environ["wsgi.input"].read(int(size)).decode("utf-8", "replace")
        form = dict(parse_qsl(body or environ["QUERY_STRING"], keep_blank_values=True))
        item = form.get("item", "")
        if not rest[0]:
            return "200 OK", self._page(item), item
        try:
            return "303 See Other", "", self.do(rest[0], form)
        except (ReviewError, SandboxError) as error:
            status, problem = "500 Internal Server Error", f"Not kept: {error}"
        except (KeyError, ValueError) as error:
            lacks = isinstance(error, KeyError)
            status, problem = "400 Bad Request", f"the form lacks {error}" if lacks else str(error)
        return status, self._page(item, problem), item

    def _page(self, item: str, problem: str = "") -> str:
        waiting = [item] if item in self.session.cases else [case.id for case in self.session.left]
        return page(self.session, next(iter(waiting), None), problem)

    def do(self, path: str, form: Mapping[str, str]) -> str:
        """Process a form; return the item to show next, empty for the next one without a verdict.

        Raises:
            KeyError, ValueError: the form lacks a field, or is not valid; the message says why.
            ReviewError, SandboxError: a review cannot be stored, or the sandbox failed.
        """
        session, item = self.session, form["item"]
        if path == "verdict":
            session.say(item, Ruling(form["ruling"]), form["reason"])
            self.on_verdict()
            return ""
        if path == "call" and "forget" in form:
            session.bench.forget(session.case(item).item)
        elif path == "call":
            session.bench.call(session.case(item).item, form["tool"], form["arguments"])
        elif "none" not in form and not form["answer"].strip():
            raise ValueError("write an answer, or press No answer")
        else:
            session.derive(item, "" if "none" in form else form["answer"])
        return item


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    # A browser keeps idle connections open.
    daemon_threads = True
    block_on_close = False

    def server_bind(self) -> None:
        # Skip HTTPServer's host name look-up, which can take seconds offline.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])
        self.setup_environ()


class _Handler(WSGIRequestHandler):
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - BaseHTTPRequestHandler names it so
        """Log nothing, as stderr belongs to the program."""
