"""The second way to a worker, over the container's standard streams, with a real engine."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.sandbox import attacks
from tests.sandbox.conformance import Box, Conformance, opened
from tests.waiting import until
from toolhop_sandbox.attach.tunnel import Tunnel
from toolhop_sandbox.base import Program
from toolhop_sandbox.docker import containers
from toolhop_sandbox.docker.engine import DockerEngine, DockerWorker
from toolhop_sandbox.docker.refusals import see_that_it_fits
from toolhop_sandbox.errors import SandboxFault, SandboxUnavailable
from toolhop_sandbox.outcome import Returned
from toolhop_sandbox.pool import PooledSandbox

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


@pytest.mark.docker
class TestAttached(Conformance):
    @pytest.fixture
    def box(self, attached_box: Box) -> Box:
        return attached_box


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
    for _ in range(5):
        assert attached_box.play(source) == Returned("1")
        attached_box.check_clean()


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
    attached_box.portal.call(anyio.sleep, 0.2)
    before = use()
    attached_box.portal.call(calls, 1000)
    # Descriptors of standbys that are being replaced come and go, and so do threads.
    until(lambda: use()[0] <= before[0] + 6 and use()[1] <= before[1], "as few open as before")
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
from toolhop_sandbox.docker.engine import DockerEngine
from toolhop_sandbox.pool import PooledSandbox

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
        until(
            lambda: not client.api.containers(all=True, filters={"id": container_id}),
            "the container's end",
        )


@pytest.mark.docker
def test_auto_attaches_where_the_mounted_socket_is_not_there(
    engine: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As in a virtual machine: the engine mounts a folder of its own under that path."""
    real = DockerEngine._create

    def elsewhere(self: DockerEngine, client: Any, way: Path | Tunnel) -> str:
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
    monkeypatch.setattr("toolhop_sandbox.docker.image.entry_command", lambda _="": command)

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
