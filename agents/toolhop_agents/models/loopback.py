"""A server on this machine that speaks OpenAI's two protocols.

For trying clients, agents and whole runs over real HTTP without a provider: a function says
what the model says, and a `FaultPlan` what goes wrong.
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
"""The one model that ``GET /v1/models`` lists; any name is answered."""

COMPLETIONS = frozenset({"/v1/chat/completions", "/chat/completions"})
RESPONSES = frozenset({"/v1/responses", "/responses"})
MODELS = frozenset({"/v1/models", "/models"})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
REFUSED = "this server is not asked under that name or from that page"
MOST_BYTES = 64 << 20
"""Of a request's body."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request for a completion."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]
    model: str
    body: dict[str, JSON]
    """The whole request as it came; of one for a response, as a chat's."""
    api: Api = Api.CHAT


RequestResponder: TypeAlias = Callable[[Request], Reply]
"""What the model says. Called in one thread per connection; calls overlap."""


class LoopbackServer:
    """Serves completions on 127.0.0.1 while its context is open.

    A responder that raises is answered with a 400 that names the exception, so that the client
    stops at once; the exception is kept in `errors`.
    """

    def __init__(
        self,
        responder: RequestResponder,
        *,
        faults: FaultPlan | None = None,
        capacity: int | None = None,
        port: int = 0,
    ) -> None:
        """Answer as `responder` says.

        Args:
            responder: what the model says.
            faults: what goes wrong, whatever the load.
            capacity: requests under way at a time; one more is refused with 429, by the clock.
            port: to listen at; 0 takes any that is free.
        """
        self._responder = responder
        self._capacity = capacity
        self._under_way = 0
        self._faults = faults or FaultPlan()
        self._lock = threading.Lock()  # guards the counters
        self._counts: Counter[RequestFault] = Counter()
        self._attempts: Counter[str] = Counter()
        self.errors: list[Exception] = []
        """What the responder raised, in order."""
        self.stopping = threading.Event()
        """Set when the server stops; ends what hangs."""
        self._http = _HTTPServer(self, port)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.02,), name="loopback", daemon=True
        )

    @property
    def base_url(self) -> str:
        """What clients take as base URL, such as ``http://127.0.0.1:40001/v1``."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def counts(self) -> Mapping[RequestFault, int]:
        """Requests for a completion by how they ended; a copy."""
        with self._lock:
            return dict(self._counts)

    @property
    def requests(self) -> int:
        """Requests for a completion that were understood."""
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
        """What the plan and the responder make of a request; counted."""
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
        # Without HTTPServer's look-up of the host's name, which can take seconds offline.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver types it so
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - socketserver types it so
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - socketserver types it so
        # A client that gave up waiting is not news.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def close_connections(self) -> None:
        """End the threads that wait for the next request of a connection kept alive."""
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
        """Let go of the connection, also where its client is gone before the reply is sent."""
        try:
            super().finish()
        finally:
            self.rfile.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - BaseHTTPRequestHandler names it so
        """Nothing: stderr belongs to the program."""

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
        """Answer one request for a completion or a response."""
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
        """Whether the request was refused by its head. Its body is then not read, so the
        connection ends.
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
        """Send a completion, whole or as a stream, as the request wants it."""
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
            # Each event leaves by itself, as a model's do.
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
    """Read a request's body. Raises ValueError, with the text for the client."""
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
