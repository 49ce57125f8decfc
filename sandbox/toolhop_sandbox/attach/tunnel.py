"""The host's stand-in for a worker whose container shares no socket with this machine.

It holds the worker's end of the control socket of a `WorkerLink`, and carries its traffic over the
container's standard streams: one connection to the engine, which may be on another machine or in a
virtual one. Its counterpart in the container is `attach.relay`. The stream is trusted no more than
a socket: `attach.mux` enforces frames and windows, and a violation ends the worker.
"""

from __future__ import annotations

import logging
import socket
import ssl
import struct
import threading
from typing import TYPE_CHECKING, Any

from toolhop_sandbox.attach import mux

if TYPE_CHECKING:
    from docker import DockerClient

log = logging.getLogger(__name__)

READ_BYTES = 131_072
STDOUT = 1
ENGINE_HEAD = struct.Struct(">BxxxI")
"""Header that the engine puts before each piece of a container's output: stream and length."""
JOIN_S = 5.0
"""Seconds that the thread may take to end; normally it ends at once."""


class Tunnel:
    """One worker's channels over the attached streams of its container."""

    def __init__(self) -> None:
        self.control, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        """The end for a `WorkerLink`; closing it ends the tunnel."""
        self._stream: EngineStream | None = None
        self._thread = threading.Thread(target=self._carry, name="toolhop-tunnel", daemon=True)

    def attach(self, client: DockerClient, container_id: str) -> None:
        """Attach to a container that has been created but not started. Blocks.

        Raises:
            docker.errors.APIError: the engine refused.
        """
        self.close_stream()
        params = {"stdin": 1, "stdout": 1, "stream": 1}
        self._stream = EngineStream(client.api.attach_socket(container_id, params=params))

    def start(self) -> None:
        """Start serving in a thread, as the stream must be served even while nothing is awaited."""
        self._thread.start()

    def stop(self) -> None:
        """Close everything and wait until it is closed. Blocks briefly."""
        self.control.close()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)
        else:
            self._far.close()
            self.close_stream()

    def close_stream(self) -> None:
        """Close the connection to the engine."""
        if self._stream is not None:
            self._stream.close()

    def _carry(self) -> None:
        if self._stream is None:
            raise RuntimeError("attach first")
        try:
            mux.Mux(self._stream, self._far, leads=True).run()
        except mux.Hangup:
            return
        except mux.Broken as error:
            # A caller that waits for the worker finds its socket closed, a SandboxFault.
            log.info("a worker's stream was given up: %s", error)


class EngineStream:
    """A container's standard input and output over one connection; implements `mux.Stream`."""

    def __init__(self, attached: Any) -> None:  # noqa: ANN401 -- one of three kinds, see `_owned`
        self._socket, self._held = _owned(attached)
        self._socket.setblocking(False)
        self._left = 0
        """Remaining bytes of the piece whose header was read."""
        self._head = b""

    def descriptors(self) -> tuple[int, int]:
        """See `mux.Stream`."""
        return self._socket.fileno(), self._socket.fileno()

    def read(self) -> bytes:
        """See `mux.Stream`.

        Raises:
            mux.Broken: the data is not a container's standard output.
        """
        while True:
            try:
                data = self._socket.recv(READ_BYTES)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                raise BlockingIOError from None
            if not data or (data := self._unmarked(data)):
                return data

    def _unmarked(self, data: bytes) -> bytes:
        """Return the container's output in `data`, without the engine's headers."""
        pieces: list[bytes] = []
        data = self._head + data
        start = 0
        while start < len(data):
            if not self._left:
                if len(data) - start < ENGINE_HEAD.size:
                    break
                kind, self._left = ENGINE_HEAD.unpack_from(data, start)
                if kind != STDOUT:
                    raise mux.Broken(f"the engine sent output of kind {kind}")
                start += ENGINE_HEAD.size
            piece = data[start : start + self._left]
            pieces.append(piece)
            start += len(piece)
            self._left -= len(piece)
        self._head = data[start:]
        return b"".join(pieces)

    def write(self, data: bytearray) -> int:
        """See `mux.Stream`."""
        try:
            return self._socket.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def close(self) -> None:
        """See `mux.Stream`. Closing twice is allowed."""
        self._socket.close()
        held, self._held = self._held, None
        if held is not None:
            held.close()


def _owned(attached: Any) -> tuple[socket.socket, Any]:  # noqa: ANN401 -- docker's own
    """Return a socket of our own for the result of `attach_socket`, and what to close after it.

    The result is the reader of a plain socket (unix, TCP), a TLS socket, or an SSH channel.
    """
    if isinstance(attached, socket.SocketIO):
        # The response closes its socket when garbage collected; the duplicate is ours.
        plain: socket.socket = attached._sock.dup()  # type: ignore[attr-defined]  # noqa: SLF001
        attached._response.close()  # type: ignore[attr-defined]  # noqa: SLF001 -- set by docker
        return plain, None
    if isinstance(attached, ssl.SSLSocket):
        # A duplicate would not have the keys.
        return attached, attached._response  # type: ignore[attr-defined]  # noqa: SLF001
    return _bridged(attached), attached


def _bridged(channel: Any) -> socket.socket:  # noqa: ANN401 -- paramiko's Channel
    """Return a socket for a channel that cannot be polled; two threads copy between them.

    The threads end when either side does.
    """
    ours, theirs = socket.socketpair()
    channel.settimeout(None)

    def copy(source: Any, target: Any) -> None:  # noqa: ANN401 -- a socket or a channel
        try:
            while data := source.recv(READ_BYTES):
                target.sendall(data)
        except OSError:
            pass
        finally:
            # Wakes the other thread.
            channel.close()
            _shut(theirs)

    def there() -> None:
        copy(theirs, channel)
        back.join()
        theirs.close()

    back = threading.Thread(target=copy, args=(channel, theirs), name="toolhop-ssh", daemon=True)
    back.start()
    threading.Thread(target=there, name="toolhop-ssh", daemon=True).start()
    return ours


def _shut(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
