"""Channels over one stream: each end alone against a liar, and both together."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import until
from toolhop_sandbox.attach import mux, relay
from toolhop_sandbox.attach.tunnel import ENGINE_HEAD, EngineStream, Tunnel
from toolhop_sandbox.worker import wire

WAIT_S = 60.0


# --- the host's end against a relay that lies


class Plain:
    """A socket as a `mux.Stream`."""

    def __init__(self, one: socket.socket) -> None:
        one.setblocking(False)
        self.socket = one

    def descriptors(self) -> tuple[int, int]:
        return self.socket.fileno(), self.socket.fileno()

    def read(self) -> bytes:
        return self.socket.recv(100_000)

    def write(self, data: bytearray) -> int:
        return self.socket.send(data)

    def close(self) -> None:
        self.socket.close()


@contextlib.contextmanager
def tunnel() -> Iterator[tuple[Tunnel, socket.socket]]:
    """A tunnel, and the far end of its stream: the test plays the engine and the relay."""
    near, far = socket.socketpair()
    raw: Any = near.makefile("rb", buffering=0)
    raw._response = contextlib.ExitStack()
    raw._response.callback(near.close)
    raw._response.callback(raw.close)
    made = Tunnel()
    made._stream = EngineStream(raw)
    made.control.settimeout(WAIT_S)
    far.settimeout(WAIT_S)
    made.start()
    with far:
        try:
            yield made, far
        finally:
            made.stop()
    assert not made._thread.is_alive()


def marked(data: bytes, kind: int = 1) -> bytes:
    return ENGINE_HEAD.pack(kind, len(data)) + data


def said(letter: bytes, number: int, body: bytes = b"", length: int | None = None) -> bytes:
    return mux.HEAD.pack(letter, number, len(body) if length is None else length) + body


def begin(made: Tunnel, far: socket.socket) -> socket.socket:
    """Begin connection 1; the host's end of it."""
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(made.control, [wire.packet(wire.SPAWN, 9)], [theirs.fileno()])
    expected = said(mux.OPEN, 1, wire.packet(wire.SPAWN, 9))
    assert far.recv(len(expected), socket.MSG_WAITALL) == expected
    ours.settimeout(WAIT_S)
    return ours


LIES = {
    "a frame beyond the cap": said(mux.DATA, 1, length=mux.CHUNK_BYTES + 1),
    "a frame of 4 GB": said(mux.PACKET, 0, length=0xFFFFFFFF),
    "an unknown letter": said(b"z", 1),
    "data for a connection that never was": said(mux.DATA, 2, b"x"),
    "data for number 0": said(mux.DATA, 0, b"x"),
    "the end of a connection that never was": said(mux.CLOSE, 1 << 63),
    "a connection of its own": said(mux.OPEN, 2, b"S"),
    "an empty packet": said(mux.PACKET, 0),
    "a packet beyond the cap": said(mux.PACKET, 0, b"x" * (wire.PACKET_BYTES + 1)),
    "credit for nothing": said(mux.CREDIT, 1, b"\0\0\0\1"),
    "credit of another length": said(mux.CREDIT, 1, b"\1"),
    "more than its window": said(mux.DATA, 1, b"x" * mux.CHUNK_BYTES) * 40,
    "data after its end": said(mux.DATA, 1, b"x" * mux.CHUNK_BYTES) * 4
    + said(mux.CLOSE, 1)
    + said(mux.DATA, 1, b"x"),
    "a flood of packets": said(mux.PACKET, 0, wire.packet(wire.PING, 1)) * 5000,
    "a beat": said(mux.BEAT, 0),
}


@pytest.mark.parametrize("name", LIES)
def test_a_relay_that_lies_loses_the_worker(name: str) -> None:
    with tunnel() as (made, far), begin(made, far):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            far.sendall(marked(LIES[name]))
        ended(made.control)


@pytest.mark.parametrize(
    "data",
    [marked(b"Traceback", kind=2), b"HTTP/1.1 200", marked(b"", kind=0)],
    ids=["errors", "text", "input"],
)
def test_output_of_another_kind_loses_the_worker(data: bytes) -> None:
    with tunnel() as (made, far):
        far.sendall(data)
        ended(made.control)


def ended(one: socket.socket) -> None:
    """Read to the end: what came before is given."""
    with contextlib.suppress(ConnectionResetError):
        while one.recv(wire.PACKET_BYTES):
            pass


def test_a_stream_that_ends_ends_every_connection() -> None:
    with tunnel() as (made, far), begin(made, far) as ours:
        far.sendall(marked(said(mux.DATA, 1, b"last")))
        assert ours.recv(4) == b"last"
        far.close()
        ended(ours)
        ended(made.control)


def test_pieces_may_be_cut_anywhere() -> None:
    body = wire.packet(wire.HELLO, 0, b"{}")
    sent = said(mux.PACKET, 0, body) + said(mux.DATA, 1, b"abc")
    text = b"".join(marked(sent[n : n + 5]) for n in range(0, len(sent), 5)) + marked(b"")
    with tunnel() as (made, far), begin(made, far) as ours:
        for n in range(len(text)):
            far.sendall(text[n : n + 1])
        assert made.control.recv(100) == body
        assert ours.recv(3, socket.MSG_WAITALL) == b"abc"


def test_what_is_late_for_a_closed_connection_is_passed_over() -> None:
    with tunnel() as (made, far):
        begin(made, far).close()
        expected = said(mux.CLOSE, 1)
        assert far.recv(len(expected), socket.MSG_WAITALL) == expected
        late = said(mux.DATA, 1, b"x") + said(mux.CREDIT, 1, b"\0\0\0\1") + said(mux.CLOSE, 1)
        far.sendall(marked(late + said(mux.PACKET, 0, b"still there")))
        assert made.control.recv(100) == b"still there"


def test_beats_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mux, "BEAT_S", 0.01)
    with tunnel() as (_, far):
        assert far.recv(mux.HEAD.size, socket.MSG_WAITALL) == said(mux.BEAT, 0)


@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_do_more_than_break_the_stream(data: bytes, leads: bool) -> None:
    near, far = socket.socketpair()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    far.sendall(data)
    far.close()
    with ours, pytest.raises(mux.Broken):
        mux.Mux(Plain(near), theirs, leads=leads).run()


# --- both ends together


class Pair:
    """Two ends in threads; the test plays `WorkerLink` at `link` and the zygote at `zygote`."""

    def __init__(self) -> None:
        near, far = socket.socketpair()
        self.link, link_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.zygote, zygote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.leading = mux.Mux(Plain(near), link_end, leads=True)
        self.following = mux.Mux(Plain(far), zygote_end, leads=False)
        self.ends: list[Exception] = []
        ends = (self.leading, self.following)
        self.threads = [threading.Thread(target=self._run, args=(one,)) for one in ends]
        for thread in self.threads:
            thread.start()

    def _run(self, one: mux.Mux) -> None:
        try:
            one.run()
        except (mux.Broken, mux.Hangup) as end:
            self.ends.append(end)

    def connect(self) -> tuple[socket.socket, socket.socket]:
        """A connection: the host's end and the standby's."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.link, [b"spawn"], [theirs.fileno()])
        data, found, _, _ = socket.recv_fds(self.zygote, 100, 1)
        assert data == b"spawn"
        standby = socket.socket(fileno=found[0])
        ours.settimeout(WAIT_S)
        standby.settimeout(WAIT_S)
        return ours, standby

    def close(self) -> None:
        self.link.close()
        for thread in self.threads:
            thread.join(WAIT_S)
            assert not thread.is_alive()
        self.zygote.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    with contextlib.closing(Pair()) as made:
        yield made


def test_packets_go_both_ways(pair: Pair) -> None:
    for number in range(100):
        pair.link.send(b"%d" % number)
        pair.zygote.send(b"-%d" % number)
    assert [pair.zygote.recv(100) for _ in range(100)] == [b"%d" % n for n in range(100)]
    assert [pair.link.recv(100) for _ in range(100)] == [b"-%d" % n for n in range(100)]


@pytest.mark.parametrize("down", [True, False], ids=["to the standby", "from the standby"])
def test_much_data_arrives_whole(pair: Pair, down: bool) -> None:
    ends = pair.connect()
    sender, receiver = ends if down else ends[::-1]
    data = os.urandom(5_000_000)

    def send() -> None:
        with sender:
            sender.sendall(data)

    thread = threading.Thread(target=send)
    thread.start()
    got = bytearray()
    with receiver:
        while piece := receiver.recv(100_000):
            got += piece
    thread.join()
    assert bytes(got) == data
    until(lambda: not pair.leading._connections and not pair.following._connections)


@pytest.mark.parametrize("down", [True, False], ids=["to the standby", "from the standby"])
def test_a_flood_fills_its_own_window_and_holds_up_nobody(pair: Pair, down: bool) -> None:
    ends = pair.connect()
    flooder, _reader = ends if down else ends[::-1]
    flooder.settimeout(0.5)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while True:
            sent += flooder.send(b"x" * 100_000)
    # Its window, and what the kernel keeps for four sockets.
    assert mux.WINDOW_BYTES < sent < mux.WINDOW_BYTES + 4 * 500_000
    for end in (pair.leading, pair.following):
        assert len(end._connections[1].inbox) <= mux.WINDOW_BYTES
        assert len(end._outgoing) <= mux.PENDING_BYTES
    ours, standby = pair.connect()
    for first, second in ((ours, standby), (standby, ours)):
        first.sendall(b"heard")
        assert second.recv(5) == b"heard"
    pair.link.send(b"packet")
    assert pair.zygote.recv(100) == b"packet"
    for one in (*ends, ours, standby):
        one.close()


def test_what_a_standby_wrote_before_it_ended_arrives(pair: Pair) -> None:
    ours, standby = pair.connect()
    ours.sendall(b"x" * 100_000)
    # It ends with its request unread.
    standby.sendall(b"answer")
    standby.close()
    assert ours.recv(6, socket.MSG_WAITALL) == b"answer"
    ended(ours)
    ours.close()


def test_a_relay_whose_zygote_ends_ends(pair: Pair) -> None:
    ours, standby = pair.connect()
    pair.zygote.close()
    ended(pair.link)
    ended(ours)
    for one in (ours, standby):
        one.close()


def test_a_relay_that_hears_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mux, "SILENCE_S", 0.05)
    near, far = socket.socketpair()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with near, ours, pytest.raises(mux.Broken, match="nothing came over"):
        mux.Mux(Plain(far), theirs, leads=False).run()


def test_the_relay_runs_in_containers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its zygote kills every process that it sees. Nothing here may ever start one."""

    def never() -> socket.socket:
        raise AssertionError

    monkeypatch.setattr(relay, "start_zygote", never)
    assert os.getpid() != 1
    with pytest.raises(SystemExit, match="first process of a container"):
        relay.main()


class Channel:
    """What docker gives for an ssh:// engine, as far as it is used."""

    def __init__(self, one: socket.socket) -> None:
        self.recv, self.sendall, self.settimeout = one.recv, one.sendall, one.settimeout
        self._socket = one

    def close(self) -> None:
        # Paramiko's wakes whoever reads.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def test_a_channel_that_no_poll_can_wait_for_is_copied() -> None:
    near, far = socket.socketpair()
    stream = EngineStream(Channel(near))
    with far:
        far.settimeout(WAIT_S)
        far.sendall(marked(b"abc"))
        until(lambda: read(stream) == b"abc")
        assert stream.write(bytearray(b"def")) == 3
        assert far.recv(3) == b"def"
        stream.close()
        ended(far)
    until(lambda: "toolhop-ssh" not in {thread.name for thread in threading.enumerate()})


def read(stream: EngineStream) -> bytes:
    try:
        return stream.read()
    except BlockingIOError:
        return b""
