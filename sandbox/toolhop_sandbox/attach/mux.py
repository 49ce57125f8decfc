"""A control channel and many connections over one byte stream; both ends of a tunnel run this code.

If host and worker share no socket, each has a stand-in for the other (`tunnel` on the host, `relay`
in the container). Each stand-in holds the far end of local sockets; what it reads from them travels
in frames of a letter, a connection's number, a length and a body.

A connection may have `WINDOW_BYTES` in flight that its receiver has not consumed; then its sender
is not read until credit returns. So a connection that floods fills only its own window, neither end
buffers more than that per connection, and the stream is never blocked.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from toolhop_sandbox.worker import wire

OPEN = b"O"  # a connection begins: the control packet that its descriptor came with
PACKET = b"P"  # a control packet without descriptor
DATA = b"D"  # bytes of a connection
CREDIT = b"G"  # 4-byte count of its bytes that were consumed
CLOSE = b"Q"  # a connection's local end is gone
BEAT = b"B"  # the leading end is alive
HEAD = struct.Struct(">cQI")

CHUNK_BYTES = 65_536
"""Maximum length of a frame's body; `replies` limits the total size of a reply."""
WINDOW_BYTES = 262_144
"""Flow-control window per connection. Eight times the size of an ordinary program, so that a call
seldom waits for credit."""
PENDING_BYTES = 262_144
"""Maximum number of bytes waiting for the stream before local sockets are no longer read."""
BACKLOG_PACKETS = 512
"""Maximum number of control packets waiting for a local reader, which reads them at every call."""
BEAT_S, SILENCE_S = 20.0, 300.0
"""Seconds between beats, and seconds of silence after which a host is considered gone, as it may
vanish without closing the stream. A host suspended in a terminal for less finds its worker
alive."""


class Broken(Exception):
    """The stream ended, or the other end broke the protocol."""


class Hangup(Exception):
    """The local control channel was closed, which ends the tunnel."""


class Stream(Protocol):
    """A non-blocking byte stream in both directions."""

    def descriptors(self) -> tuple[int, int]:
        """Return the descriptors to poll for reading and for writing."""
        ...

    def read(self) -> bytes:
        """Return the available bytes; empty at the end. Raises BlockingIOError: no data yet."""
        ...

    def write(self, data: bytearray) -> int:
        """Write what fits of `data`; return its length. Raises BlockingIOError: nothing fits."""
        ...

    def close(self) -> None:
        """Close both directions."""
        ...


@dataclass(slots=True)
class Connection:
    """The local socket of a connection, and its flow-control state."""

    socket: socket.socket
    credit: int = WINDOW_BYTES
    """Bytes that may still be sent to the other end."""
    granted: int = WINDOW_BYTES
    """Bytes that the other end may still send."""
    taken: int = 0
    """Bytes written to `socket` for which credit has not been returned yet."""
    inbox: bytearray = field(default_factory=bytearray)
    """Bytes that `socket` had no room for."""
    deaf: bool = False
    """Whether the local reader is gone; what it wrote before may still be unread."""
    ending: bool = False
    """Whether the other end is gone; what it sent before is still to be written."""


class Mux:
    """Carries one worker's channels until its control channel or the stream ends."""

    def __init__(self, stream: Stream, control: socket.socket, *, leads: bool) -> None:
        """Prepare to serve `control` over `stream`; `run` closes both in the end.

        Args:
            stream: stream to the other end.
            control: the local end of a ``SOCK_SEQPACKET`` pair.
            leads: whether this end opens connections and sends beats. The other end accepts
                connections, and ends if it hears nothing for `SILENCE_S`.
        """
        control.setblocking(False)
        self._stream, self._control, self._leads = stream, control, leads
        self._connections: dict[int, Connection] = {}
        self._numbers: dict[int, int] = {}
        """Number of a connection by its descriptor."""
        self._latest = 0
        """Number of the most recent connection."""
        self._backlog: deque[tuple[bytes, socket.socket | None]] = deque()
        self._outgoing, self._incoming = bytearray(), bytearray()
        self._poll = select.poll()
        self._watched: dict[int, int] = {}
        self._heard = self._spoke = time.monotonic()

    def run(self) -> None:
        """Serve until the end, then close everything.

        Raises:
            Hangup: the local control channel was closed.
            Broken: the stream ended, or the other end broke the protocol.
        """
        try:
            while True:
                self._step()
        except OSError as error:
            raise Broken(f"the stream failed: {error}") from error
        finally:
            self._close()

    def _step(self) -> None:
        self._watch_all()
        reading, _ = self._stream.descriptors()
        wait_s = BEAT_S if self._leads else SILENCE_S
        for descriptor, event in self._poll.poll(wait_s * 1000):
            if descriptor == self._control.fileno():
                self._serve_control(event)
            elif descriptor in self._numbers:
                self._serve_connection(self._numbers[descriptor], event)
            elif descriptor == reading and event & ~select.POLLOUT:
                self._read_stream()
        self._keep_alive()
        self._flush()

    def _keep_alive(self) -> None:
        now = time.monotonic()
        if self._leads and now - self._spoke >= BEAT_S:
            self._say(BEAT, 0)
            self._spoke = now
        elif not self._leads and now - self._heard >= SILENCE_S:
            raise Broken(f"nothing came over the stream for {SILENCE_S:g} s")

    def _watch_all(self) -> None:
        """Register for the events that can be served now."""
        room = len(self._outgoing) < PENDING_BYTES
        reading, writing = self._stream.descriptors()
        # A following end that cannot pass a packet on stops reading; a leading one always
        # reads, and has a limit for packets instead.
        wanted = {reading: 0 if self._backlog and not self._leads else select.POLLIN}
        if self._outgoing:
            wanted[writing] = wanted.get(writing, 0) | select.POLLOUT
        # Its end is reported even if no events are requested.
        control = (select.POLLIN if room else 0) | (select.POLLOUT if self._backlog else 0)
        for one in self._connections.values():
            events = select.POLLIN if room and one.credit and not one.ending else 0
            events |= select.POLLOUT if one.inbox else 0
            if events:
                wanted[one.socket.fileno()] = events
        # Not watched without events, as its end would be reported over and over.
        wanted = {descriptor: events for descriptor, events in wanted.items() if events}
        wanted[self._control.fileno()] = control
        if wanted != self._watched:
            self._rewatch(wanted)

    def _rewatch(self, wanted: dict[int, int]) -> None:
        for descriptor in self._watched.keys() - wanted.keys():
            self._poll.unregister(descriptor)
        for descriptor, events in wanted.items():
            if self._watched.get(descriptor) != events:
                self._poll.register(descriptor, events)
        self._watched = wanted

    # --- the local side

    def _serve_control(self, event: int) -> None:
        if event & select.POLLIN:
            self._read_control()
        elif event & ~select.POLLOUT:
            raise Hangup
        while self._backlog and self._pass_on(*self._backlog[0]):
            self._backlog.popleft()

    def _read_control(self) -> None:
        """Forward the local packets; a packet with a descriptor opens a connection."""
        while len(self._outgoing) < PENDING_BYTES:
            try:
                data, found, _, _ = socket.recv_fds(self._control, wire.PACKET_BYTES, 1)
            except BlockingIOError:
                return
            except OSError as error:
                raise Hangup from error
            if not data:
                raise Hangup
            if found:
                os.set_inheritable(found[0], False)
                self._latest += 1
                self._add(socket.socket(fileno=found[0]))
                self._say(OPEN, self._latest, data)
            else:
                self._say(PACKET, 0, data)

    def _pass_on(self, data: bytes, connection: socket.socket | None) -> bool:
        """Give a packet to the local reader; return False if it has no room."""
        found = [] if connection is None else [connection.fileno()]
        try:
            socket.send_fds(self._control, [data], found)
        except BlockingIOError:
            return False
        except OSError as error:
            raise Hangup from error
        if connection is not None:
            connection.close()
        return True

    def _serve_connection(self, number: int, event: int) -> None:
        one = self._connections[number]
        if one.inbox:
            self._pour(number, one)
        if event & ~select.POLLOUT and one.credit and not one.ending:
            self._draw(number, one)

    def _draw(self, number: int, one: Connection) -> None:
        """Forward what the local end has written."""
        try:
            data = one.socket.recv(min(CHUNK_BYTES, one.credit))
        except BlockingIOError:
            return
        except OSError:
            # It ended with unread data. What it had written was read before.
            data = b""
        if data:
            one.credit -= len(data)
            self._say(DATA, number, data)
        else:
            self._say(CLOSE, number)
            self._drop(number)

    def _pour(self, number: int, one: Connection) -> None:
        """Write received bytes to the local end while it has room, and return credit for them."""
        try:
            while one.inbox and not one.deaf:
                sent = one.socket.send(one.inbox)
                del one.inbox[:sent]
                one.taken += sent
        except BlockingIOError:
            pass
        except OSError:
            one.deaf = True
        if one.deaf:
            one.taken += len(one.inbox)
            one.inbox.clear()
        if one.ending and not one.inbox:
            self._drop(number)
        elif one.taken >= WINDOW_BYTES // 2:
            one.granted += one.taken
            self._say(CREDIT, number, wire.LENGTH.pack(one.taken))
            one.taken = 0

    # --- the stream

    def _say(self, letter: bytes, number: int, body: bytes = b"") -> None:
        self._outgoing += HEAD.pack(letter, number, len(body)) + body

    def _flush(self) -> None:
        try:
            while self._outgoing:
                del self._outgoing[: self._stream.write(self._outgoing)]
                self._spoke = time.monotonic()
        except BlockingIOError:
            return

    def _read_stream(self) -> None:
        """Read the available bytes and handle each complete frame."""
        try:
            data = self._stream.read()
        except BlockingIOError:
            return
        if not data:
            raise Broken("the stream ended")
        self._heard = time.monotonic()
        self._incoming += data
        start, size = 0, len(self._incoming)
        while size - start >= HEAD.size:
            letter, number, length = HEAD.unpack_from(self._incoming, start)
            if length > CHUNK_BYTES:
                raise Broken(f"a frame of {length} bytes; at most {CHUNK_BYTES} are allowed")
            body = start + HEAD.size
            if body + length > size:
                break
            start = body + length
            self._take(letter, number, bytes(self._incoming[body:start]))
        del self._incoming[:start]

    def _take(self, letter: bytes, number: int, body: bytes) -> None:
        if letter == DATA:
            self._take_data(number, body)
        elif letter == PACKET:
            self._take_packet(body, None)
        elif letter == OPEN and not self._leads and number == self._latest + 1:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            self._latest = number
            self._add(ours)
            self._take_packet(body, theirs)
        elif letter == CREDIT and len(body) == wire.LENGTH.size:
            self._take_credit(number, wire.LENGTH.unpack(body)[0])
        elif letter == CLOSE:
            one = self._known(number)
            if one is not None:
                one.ending = True
                self._pour(number, one)
        elif letter != BEAT or self._leads:
            raise Broken(f"a frame {letter!r} of {len(body)} bytes for {number} is out of place")

    def _take_data(self, number: int, body: bytes) -> None:
        one = self._known(number)
        if one is None:
            return
        if len(body) > one.granted or one.ending:
            raise Broken(f"{len(body)} bytes for {number}, which may get {one.granted}")
        one.granted -= len(body)
        one.inbox += body
        self._pour(number, one)

    def _take_credit(self, number: int, count: int) -> None:
        one = self._known(number)
        if one is None:
            return
        one.credit += count
        if one.credit > WINDOW_BYTES:
            raise Broken(f"{number} was given credit for more than was sent")

    def _take_packet(self, data: bytes, connection: socket.socket | None) -> None:
        """Pass a control packet on, after any that are waiting."""
        if not 0 < len(data) <= wire.PACKET_BYTES:
            raise Broken(f"a control packet of {len(data)} bytes")
        if self._backlog or not self._pass_on(data, connection):
            self._backlog.append((data, connection))
            if self._leads and len(self._backlog) > BACKLOG_PACKETS:
                raise Broken(f"{BACKLOG_PACKETS} control packets wait and more come")

    def _known(self, number: int) -> Connection | None:
        """Return a connection by number; None if it has ended, as the other end may not know yet.

        Raises:
            Broken: no connection ever had this number.
        """
        if not 0 < number <= self._latest:
            raise Broken(f"a frame for connection {number}; {self._latest} were begun")
        return self._connections.get(number)

    # --- connections

    def _add(self, local: socket.socket) -> None:
        local.setblocking(False)
        self._connections[self._latest] = Connection(local)
        self._numbers[local.fileno()] = self._latest

    def _drop(self, number: int) -> None:
        one = self._connections.pop(number)
        descriptor = one.socket.fileno()
        del self._numbers[descriptor]
        if self._watched.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)
        one.socket.close()

    def _close(self) -> None:
        for number in list(self._connections):
            self._drop(number)
        for _, connection in self._backlog:
            if connection is not None:
                connection.close()
        self._stream.close()
        self._control.close()
