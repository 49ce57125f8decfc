"""A local server that speaks OpenAI's two protocols.

It exercises clients, agents and whole runs over real HTTP without a provider: a function supplies
the replies and a `FaultPlan` the faults.
"""

from __future__ import annotations

import hashlib
import json
import socket
import socketserver
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias
from urllib.parse import urlsplit

from toolhop_agents.models import wire_responses, wire_stream
from toolhop_agents.models.exchange import Api
from toolhop_agents.models.fault_plan import FaultPlan, RequestFault
from toolhop_agents.models.wire_reading import Unreadable, messages_from_wire, tools_from_wire
from toolhop_agents.models.wire_sending import reply_to_wire
from toolhop_env.messages import Message, Reply
from toolhop_sandbox.outcome import JSON
from toolhop_tools.model import ToolSchema

__all__ = ["FaultPlan", "LoopbackServer", "Request", "RequestFault", "RequestResponder"]

MODEL = "loopback"
"""The only model listed by ``GET /v1/models``. Requests may name any model."""

COMPLETIONS = frozenset({"/v1/chat/completions", "/chat/completions"})
RESPONSES = frozenset({"/v1/responses", "/responses"})
MODELS = frozenset({"/v1/models", "/models"})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
REFUSED = "this server is not asked under that name or from that page"
MOST_BYTES = 64 << 20
"""Maximum size of a request body."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request for a completion."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    model: str
    body: dict[str, JSON]
    """The whole request body; a responses request is converted to a chat request."""
    api: Api = Api.CHAT


RequestResponder: TypeAlias = Callable[[Request], Reply]
"""Returns the model's reply. Called in one thread per connection; calls overlap."""


class LoopbackServer:
    """Serves completions on 127.0.0.1 while its context is open.

    If the responder raises, the server replies with a 400 that names the exception, so that the
    client stops at once, and appends the exception to `errors`.
    """

    def __init__(
        self,
        responder: RequestResponder,
        *,
        faults: FaultPlan | None = None,
        capacity: int | None = None,
        port: int = 0,
    ) -> None:
        """Create a server that replies as `responder` does.

        Args:
            responder: returns the model's replies.
            faults: faults to inject, whatever the load.
            capacity: maximum number of concurrent requests; more are refused with 429.
            port: port to listen on; 0 picks a free one.
        """
        self._responder = responder
        self._capacity = capacity
        self._under_way = 0
        self._faults = faults or FaultPlan()
        self._lock = threading.Lock()  # guards the counters
        self._counts: Counter[RequestFault] = Counter()
        self._attempts: Counter[str] = Counter()
        self.errors: list[Exception] = []
        """Exceptions raised by the responder, in order."""
        self.stopping = threading.Event()
        """Set when the server stops; releases hanging requests."""
        self._http = _HTTPServer(self, port)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.02,), name="loopback", daemon=True
        )

    @property
    def base_url(self) -> str:
        """Base URL for clients, such as ``http://127.0.0.1:40001/v1``."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def counts(self) -> Mapping[RequestFault, int]:
        """Number of completion requests by outcome, as a copy."""
        with self._lock:
            return dict(self._counts)

    @property
    def requests(self) -> int:
        """Number of valid completion requests."""
        return sum(self.counts.values())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._http.close_connections()
        self._thread.join()

    def answer(self, request: Request) -> tuple[RequestFault, Reply]:
        """Choose the fault and the reply for a request, and count it."""
        text = json.dumps(request.body.get("messages"), sort_keys=True)
        conversation = hashlib.sha256(text.encode()).hexdigest()
        with self._lock:
            if self._capacity is not None and self._under_way >= self._capacity:
                self._counts[RequestFault.RATE_LIMITED] += 1
                return RequestFault.RATE_LIMITED, Reply()
            attempt, arrival = self._attempts[conversation], self._counts.total()
            fault = self._faults.decide(conversation, attempt, arrival)
            self._attempts[conversation] += 1
            self._counts[fault] += 1
            self._under_way += 1
        try:
            return fault, Reply() if fault is not RequestFault.NONE else self._responder(request)
        finally:
            with self._lock:
                self._under_way -= 1


_REFUSALS: Mapping[RequestFault, tuple[int, str, Mapping[str, str]]] = {
    RequestFault.RATE_LIMITED: (429, "slow down", {"Retry-After": "0"}),
    RequestFault.SERVER_ERROR: (500, "the server met a planned fault", {}),
    RequestFault.UNAUTHORIZED: (401, "the API key is not valid", {}),
    RequestFault.BAD_REQUEST: (400, "the request is not valid", {}),
}


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, loopback: LoopbackServer, port: int) -> None:
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), partial(_Handler, loopback))

    def server_bind(self) -> None:
        # Skip HTTPServer's look-up of the host name, which can take seconds offline.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver types it so
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - socketserver types it so
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver types it so
        # Clients that give up waiting are not worth a traceback.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def close_connections(self) -> None:
        """Shut down kept-alive connections, so that their threads end."""
        for connection in tuple(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together
    disable_nagle_algorithm = True

    def __init__(self, loopback: LoopbackServer, *rest: Any) -> None:  # noqa: ANN401 - socketserver types it so
        self._loopback = loopback
        super().__init__(*rest)

    def finish(self) -> None:
        """Close the connection, even if the client left before the reply was sent."""
        try:
            super().finish()
        finally:
            self.rfile.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - BaseHTTPRequestHandler names it so
        """Log nothing: stderr belongs to the program."""

    def do_GET(self) -> None:
        """List the model."""
        if self._refused_unread():
            return
        if self.path not in MODELS:
            self._refuse(404, f"no such address: {self.path}; ask /v1/models")
            return
        model: JSON = {"id": MODEL, "object": "model", "created": 0, "owned_by": "toolhop-env"}
        self._send_raw(200, json.dumps({"object": "list", "data": [model]}).encode())

    def do_POST(self) -> None:
        """Handle a request of either protocol."""
        if self._refused_unread():
            return
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path not in COMPLETIONS | RESPONSES:
            known = "/v1/chat/completions or /v1/responses"
            self._refuse(404, f"no such address: {self.path}; post to {known}")
            return
        try:
            request = _request(raw, Api.RESPONSES if self.path in RESPONSES else Api.CHAT)
        except ValueError as error:
            self._refuse(400, str(error))
            return
        try:
            fault, reply = self._loopback.answer(request)
        except Exception as error:  # noqa: BLE001 - the responder is anybody's code
            self._loopback.errors.append(error)
            self._refuse(400, f"the responder raised {error!r}; see LoopbackServer.errors")
            return
        self._end(fault, reply, request)

    def _refused_unread(self) -> bool:
        """Refuse a request because of its headers, if necessary. Returns whether it did; the
        connection then closes, since the body is not read.
        """
        size = self.headers.get("Content-Length", "0")
        if not is_own(self.headers.get("Host", ""), self.headers.get("Origin")):
            status, why = 403, REFUSED
        elif "Transfer-Encoding" in self.headers:
            status, why = 411, "send the body's length as Content-Length, not in chunks"
        elif not (size.isascii() and size.isdecimal()):
            status, why = 400, f"Content-Length is {size!r}; it is the body's bytes, from 0"
        elif len(size) > len(str(MOST_BYTES)) or int(size) > MOST_BYTES:
            status, why = 413, f"the body has {size} bytes; at most {MOST_BYTES} are read"
        else:
            return False
        self.close_connection = True
        self._refuse(status, why, {"Connection": "close"})
        return True

    def _end(self, fault: RequestFault, reply: Reply, request: Request) -> None:
        match fault:
            case _ if fault in _REFUSALS:
                self._refuse(*_REFUSALS[fault])
            case RequestFault.BAD_GATEWAY:
                self._send_raw(502, b"<html><h1>502 Bad Gateway</h1></html>", kind="text/html")
            case RequestFault.HANG:
                self.close_connection = True
                self._loopback.stopping.wait()
            case RequestFault.CUT:
                self.close_connection = True
                self._complete(_completion(reply, request), request, cut=True)
            case RequestFault.NOT_JSON:
                self._send_raw(200, b'{"choices": [{"mess')
            case RequestFault.NO_CHOICES:
                parts = wire_responses.OUTPUT if request.api is Api.RESPONSES else "choices"
                self._complete(_completion(reply, request) | {parts: []}, request)
            case _:
                self._complete(_completion(reply, request), request)

    def _complete(
        self, completion: dict[str, JSON], request: Request, *, cut: bool = False
    ) -> None:
        if not request.body.get("stream"):
            self._send_raw(200, json.dumps(completion).encode(), cut=cut)
            return
        options = request.body.get("stream_options")
        with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        events = list(wire_stream.events(completion, with_usage=with_usage))
        self.send_response(200)
        self.send_header("Content-Type", wire_stream.KIND)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events[: len(events) // 2] if cut else events:
            # Send each event on its own, as real servers do.
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            self.wfile.flush()
        if not cut:
            self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        name = HTTPStatus(status).name.lower()
        error: JSON = {"message": message, "type": name, "code": name, "param": None}
        self._send_raw(status, json.dumps({"error": error}).encode(), headers=headers)

    def _send_raw(
        self,
        status: int,
        body: bytes,
        *,
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)


def _request(raw: bytes, api: Api) -> Request:
    """Parse a request body. Raises ValueError with a message for the client."""
    try:
        body = json.loads(raw)
    except RecursionError:
        raise ValueError("the body is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise Unreadable("the body must be a JSON object")
    if api is Api.RESPONSES:
        body = wire_responses.chat(body)
    return Request(
        messages=messages_from_wire(body.get("messages")),
        tools=tools_from_wire(body.get("tools")),
        model=str(body.get("model") or MODEL),
        body=body,
        api=api,
    )


def _completion(reply: Reply, request: Request) -> dict[str, JSON]:
    completion = reply_to_wire(reply, model=request.model, id="chatcmpl-loopback")
    return wire_responses.response(completion) if request.api is Api.RESPONSES else completion


def is_own(host: str, origin: str | None, hosts: Set[str] = LOOPBACK) -> bool:
    """Whether a request addresses the server by one of its own names and was not sent by a page of
    another origin. Such a page would act unnoticed by the user, and DNS can point any name at this
    machine.

    Args:
        host: the ``Host`` header; empty if missing.
        origin: the ``Origin`` header, which browsers send; None if missing.
        hosts: the server's names.
    """
    names = [f"//{host}"] if origin is None else [f"//{host}", origin]
    return all(_hostname(one) in hosts for one in names)


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
