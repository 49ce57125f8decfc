"""A --ray-address at which something else listens: told within seconds, before Ray is asked."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.serving import Server
from tests.waiting import CEILING_S
from toolhop_agents.cluster import connect
from toolhop_agents.cluster.connect import ClusterFault, _reach


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """The address of a listener that gives each connection to `serve`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError):
                        serve(connection)

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def closes(_: socket.socket) -> None: ...


def is_silent(connection: socket.socket) -> None:
    while connection.recv(1024):
        pass


def greets_otherwise(connection: socket.socket) -> None:
    connection.sendall(b"220 mail ready\r\n")
    is_silent(connection)


def greets_as_a_head(connection: socket.socket) -> None:
    """A frame of settings, in two pieces."""
    connection.sendall(b"\x00\x00")
    time.sleep(0.01)
    connection.sendall(b"\x06\x04\x00\x00\x00\x00\x00" + b"\x00\x04\x00\x40\x00\x00")
    is_silent(connection)


@pytest.mark.parametrize("serve", [closes, is_silent, greets_otherwise])
def test_what_is_no_head_is_told(
    serve: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "ANSWER_S", 0.2)
    with listening(serve) as address, pytest.raises(ClusterFault) as found:
        _reach(address)
    assert f"--ray-address {address} is no head of a Ray cluster" in str(found.value)
    assert "fix: " in str(found.value)


def test_a_web_server_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "ANSWER_S", CEILING_S)
    with Server(lambda exchange: exchange.send(b"", 404)) as server:
        began = time.monotonic()
        with pytest.raises(ClusterFault, match="is no head of a Ray cluster"):
            _reach(server.base_url.removeprefix("http://"))
    assert time.monotonic() - began < CEILING_S


def test_a_head_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(greets_as_a_head) as address:
        _reach(address)
    monkeypatch.setenv("RAY_USE_TLS", "1")
    with listening(is_silent) as address:
        _reach(address)  # what it says is encrypted
