"""The second way to a worker: its channels over the container's standard streams."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import containers
from sandbox.base import Program
from sandbox.engine import DockerEngine, DockerWorker
from sandbox.errors import SandboxFault, SandboxUnavailable
from sandbox.outcome import Returned
from sandbox.pool import PooledSandbox
from sandbox.refusals import see_that_it_fits
from sandbox.tunnel import ENGINE_HEAD, EngineStream, Tunnel
from sandbox.worker import mux, relay, wire
from tests.sandbox import attacks
from tests.sandbox.conformance import Box, Conformance, Restricted, opened

ROOT = Path(__file__).parents[2]
WAIT_S = 10.0
ADD = Program("def f(a):\n    return a + 1", "f")
ECHO = Program("def f(a):\n    return a", "f")


def attached() -> PooledSandbox:
    return PooledSandbox(DockerEngine(transport="attach"), policy="none")


@pytest.fixture(scope="module")
def attached_box(engine: None) -> Iterator[Box]:
    with opened(attached) as box:
        yield box


@pytest.fixture(scope="module")
def restricted_attached_box(engine: None) -> Iterator[Box]:
    with opened(lambda: PooledSandbox(DockerEngine(transport="attach"))) as box:
        yield box


@pytest.mark.docker
class TestAttached(Conformance):
    @pytest.fixture
    def box(self, attached_box: Box) -> Box:
        return attached_box


@pytest.mark.docker
class TestRestrictedAttached(Restricted):
    @pytest.fixture
    def box(self, restricted_attached_box: Box) -> Box:
        return restricted_attached_box


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
    wait_until(lambda: not pair.leading._connections and not pair.following._connections)


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


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
        wait_until(lambda: read(stream) == b"abc")
        assert stream.write(bytearray(b"def")) == 3
        assert far.recv(3) == b"def"
        stream.close()
        ended(far)
    wait_until(lambda: "toolhop-ssh" not in {thread.name for thread in threading.enumerate()})


def read(stream: EngineStream) -> bytes:
    try:
        return stream.read()
    except BlockingIOError:
        return b""


# --- with an engine


def worker_of(box: Box) -> DockerWorker:
    worker = box.pool._started[0]
    assert isinstance(worker, DockerWorker)
    return worker


@pytest.mark.docker
def test_the_description_says_which_way(attached_box: Box) -> None:
    told = attached_box.pool.description
    assert told["transport"] == "attach"
    assert told["pid_1"] is True
    assert told["seccomp"] is True


@pytest.mark.docker
def test_nothing_of_the_host_is_mounted(attached_box: Box) -> None:
    client = containers.connect()
    try:
        found = client.api.inspect_container(worker_of(attached_box).container_id)
    finally:
        client.close()
    assert found["Mounts"] == []
    assert found["Config"]["StdinOnce"] is True
    assert found["HostConfig"]["PidsLimit"] == 48


@pytest.mark.docker
def test_large_arguments_and_results(attached_box: Box) -> None:
    text = "é" * 490_000
    outcome = attached_box.call(ECHO, {"a": text})
    assert outcome == Returned(json.dumps(text, ensure_ascii=False))
    attached_box.check_clean()


@pytest.mark.docker
def test_a_call_that_floods_holds_up_nobody(attached_box: Box) -> None:
    source = attacks.FORGE + "    send(frame(b'r', b'1'))\n    while True: send(b'x' * 100000)"
    started = time.monotonic()
    for _ in range(5):
        assert attached_box.play(source) == Returned("1")
        attached_box.check_clean()
    assert time.monotonic() - started < WAIT_S


@pytest.mark.docker
def test_a_stream_cut_in_a_call_is_a_fault_and_the_session_goes_on(engine: None) -> None:
    async def run() -> None:
        async with attached() as pool, pool.session() as session:
            worker = pool._started[0]
            assert isinstance(worker, DockerWorker)
            assert worker.tunnel is not None
            assert worker.tunnel._stream is not None
            spin = Program("def f():\n    while True: pass", "f")
            stream = worker.tunnel._stream._socket
            threading.Timer(0.5, lambda: stream.shutdown(socket.SHUT_RDWR)).start()
            with pytest.raises(SandboxFault, match="the worker"):
                await session.call(spin, {})
            assert await session.call(ADD, {"a": 1}) == Returned("2")

    anyio.run(run)


@pytest.mark.docker
def test_a_thousand_calls_leave_nothing_open(attached_box: Box) -> None:
    def use() -> tuple[int, int]:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    async def calls(count: int) -> None:
        for number in range(count):
            assert await attached_box.session.call(ADD, {"a": number}) == Returned(str(number + 1))

    attached_box.portal.call(calls, 20)
    time.sleep(0.2)
    before = use()
    attached_box.portal.call(calls, 1000)
    time.sleep(0.2)
    after = use()
    # Descriptors of standbys that are being replaced come and go.
    assert abs(after[0] - before[0]) <= 6
    assert after[1] == before[1]
    attached_box.check_clean()


@pytest.mark.docker
def test_a_stopped_worker_leaves_nothing_open(engine: None) -> None:
    async def run() -> None:
        async with attached() as pool, pool.session() as session:
            await session.call(ADD, {"a": 1})

    anyio.run(run)
    assert "toolhop-tunnel" not in {
        thread.name for thread in threading.enumerate() if not thread.daemon
    }


HOST = """
import anyio
from sandbox.engine import DockerEngine
from sandbox.pool import PooledSandbox

async def main():
    pool = PooledSandbox(DockerEngine(transport="attach"))
    async with pool, pool.session():
        print(pool._started[0].container_id, flush=True)
        await anyio.sleep(60)

anyio.run(main)
"""


@pytest.mark.docker
def test_the_container_of_a_killed_host_ends_by_itself(engine: None) -> None:
    client = containers.connect()
    with (
        contextlib.closing(client),
        subprocess.Popen([sys.executable, "-c", HOST], cwd=ROOT, stdout=subprocess.PIPE) as host,
    ):
        assert host.stdout is not None
        container_id = host.stdout.readline().decode().strip()
        assert client.api.inspect_container(container_id)["State"]["Running"]
        host.kill()
        deadline = time.monotonic() + 5
        while client.api.containers(all=True, filters={"id": container_id}):
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.docker
def test_auto_attaches_where_the_mounted_socket_is_not_there(
    engine: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As in a virtual machine: the engine mounts a folder of its own under that path."""
    real = DockerEngine._create

    def elsewhere(self: DockerEngine, client: Any, way: Path | Tunnel) -> str:  # noqa: ANN401 -- docker's own
        return real(self, client, way / "elsewhere" if isinstance(way, Path) else way)

    monkeypatch.setattr(DockerEngine, "_create", elsewhere)

    async def run() -> None:
        launcher = DockerEngine()
        async with PooledSandbox(launcher) as pool, pool.session() as one, pool.session() as two:
            for session in (one, two):
                assert await session.call(ADD, {"a": 1}) == Returned("2")
            assert pool.description["transport"] == "attach"

    with caplog.at_level(logging.WARNING):
        anyio.run(run)
    assert len([one for one in caplog.messages if "standard streams" in one]) == 1


@pytest.mark.docker
def test_a_worker_that_ends_at_once_is_told(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["/usr/local/bin/python3", "-V"]
    monkeypatch.setattr("sandbox.image.entry_command", lambda _="": command)

    async def run() -> None:
        async with attached() as pool, pool.session():
            pass

    with pytest.raises(SandboxUnavailable, match="its worker ended at once"):
        anyio.run(run)


def test_an_engine_of_another_kind_is_told_what_to_do() -> None:
    with pytest.raises(
        SandboxUnavailable, match="the engine runs linux/s390x containers"
    ) as caught:
        see_that_it_fits({"Os": "linux", "Arch": "s390x"})
    assert "--sandbox-base python:3." in caught.value.fix


# --- an engine behind TCP


@contextlib.contextmanager
def forwarded(context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A port of this machine that leads to the engine's socket."""
    path = containers.engine_address().partition("://")[2]
    listener = socket.create_server(("127.0.0.1", 0))
    opened: list[socket.socket] = []

    def copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                if context is not None:
                    near = context.wrap_socket(near, server_side=True)
                far = socket.socket(socket.AF_UNIX)
                far.connect(path)
                opened.extend((near, far))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=copy, args=ends, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for one in opened:
            one.close()


@pytest.mark.docker
def test_a_whole_run_on_an_engine_behind_tcp(engine: None, tmp_path: Path) -> None:
    code = "from agents.cli import main; main()"
    flags = ["--limit", "3", "--sandbox", "docker", "--log-dir", str(tmp_path), "--json"]
    with forwarded() as port:
        done = subprocess.run(
            [sys.executable, "-c", code, "run", *flags],
            cwd=ROOT,
            env={**os.environ, "DOCKER_HOST": f"tcp://127.0.0.1:{port}"},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    assert "standard streams" in done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "success"
    manifest = json.loads((Path(told["run"]) / "manifest.json").read_text())
    assert manifest["sandbox"]["transport"] == "attach"


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate of 127.0.0.1 under the names that docker looks for; a server's context."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        capture_output=True, check=True,
    )  # fmt: skip
    (folder / "ca.pem").write_bytes(cert.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


@pytest.mark.docker
@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_an_engine_behind_tls(
    engine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "é" * 490_000

    async def run() -> None:
        async with PooledSandbox(DockerEngine()) as pool, pool.session() as session:
            for number in range(50):
                assert await session.call(ADD, {"a": number}) == Returned(str(number + 1))
            outcome = await session.call(ECHO, {"a": text})
            assert outcome == Returned(json.dumps(text, ensure_ascii=False))

    with forwarded(certificate(tmp_path)) as port:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{port}")
        # Requests would take these before what docker tells it.
        monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
        monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
        monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
        monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
        anyio.run(run)
