"""HTTP servers of the tests, each on a free port of this machine's loopback."""

from __future__ import annotations

import json
import socketserver
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Exchange(BaseHTTPRequestHandler):
    """A request, read whole before it is replied to, and the reply.

    A server that closes a connection with part of a request unread resets it, and the reply that
    was under way may be lost with it.
    """

    protocol_version = "HTTP/1.1"
    server: Server
    body: bytes
    """Of the request."""

    def do_GET(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.reply(self)

    do_POST = do_GET  # noqa: N815 -- its name in http.server

    def send(
        self,
        content: object,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Reply with bytes as they are, or with something else as JSON."""
        sent = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.begin(status, {"Content-Length": str(len(sent)), **(headers or {})})
        self.wfile.write(sent)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of a reply; JSON unless the headers say otherwise."""
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


class Server(ThreadingHTTPServer):
    """Replies as a function does; enter it with ``with``."""

    def __init__(self, reply: Callable[[Exchange], None]) -> None:
        self.reply = reply
        super().__init__(("127.0.0.1", 0), Exchange)
        self.base_url = f"http://127.0.0.1:{self.server_port}"

    def server_bind(self) -> None:
        """Without a look-up of the host's name, which can take seconds offline."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show what a test's own function raised; a client that hung up is not news."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
