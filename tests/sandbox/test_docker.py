from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.sandbox.conformance import Box, Conformance, Core, Restricted
from tests.sandbox.conftest import require_engine
from toolhop_sandbox.attach.tunnel import Tunnel
from toolhop_sandbox.base import Limits, Program
from toolhop_sandbox.docker import containers, hardening
from toolhop_sandbox.docker.engine import CREATES, DockerEngine
from toolhop_sandbox.errors import SandboxUnavailable
from toolhop_sandbox.outcome import OutOfMemory, Returned
from toolhop_sandbox.pool import PooledSandbox

pytestmark = pytest.mark.docker

ADD = Program("def f(a):\n    return a + 1", "f")


class TestDocker(Conformance):
    @pytest.fixture
    def box(self, docker_box: Box) -> Box:
        return docker_box


class TestRestrictedDocker(Restricted, Core):
    @pytest.fixture
    def box(self, restricted_docker_box: Box) -> Box:
        return restricted_docker_box


def inspect(container_id: str) -> dict[str, Any]:
    client = containers.connect()
    try:
        found: dict[str, Any] = client.api.inspect_container(container_id)
        return found
    finally:
        client.close()


def container_of(box: Box) -> str:
    # Any of the box's own: it has one session.
    return str(box.pool._started[0].container_id)  # type: ignore[attr-defined]


def test_the_container_is_closed_up(docker_box: Box) -> None:
    told = inspect(container_of(docker_box))
    host, config = told["HostConfig"], told["Config"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["IpcMode"] == "none"
    assert host["Privileged"] is False
    assert host["PidsLimit"] == 48
    assert host["Memory"] == host["MemorySwap"] == (256 + 96) << 20
    assert host["AutoRemove"] is True
    assert host["LogConfig"]["Type"] == "none"
    assert host["CgroupnsMode"] == "private"
    assert {one["Name"]: one["Hard"] for one in host["Ulimits"]} == hardening.LIMITS
    assert config["User"] == "65534:65534"
    # A base may have another one.
    assert config["WorkingDir"] == "/"
    # An engine that is stopped would wait for a worker that lets no other signal end it.
    assert config["StopSignal"] == "SIGKILL"
    assert [mount["RW"] for mount in told["Mounts"]] == [False]
    assert not any("SECRET" in text or "KEY" in text for text in config["Env"])


def test_the_host_environment_stays_outside(docker_box: Box) -> None:
    source = "import os\ndef f():\n    return sorted(os.environ)"
    outcome = docker_box.play(source)
    assert isinstance(outcome, Returned)
    assert not set(os.environ) & {"HOME_SECRET"}
    for name in ("OPENAI_API_KEY", "DOCKER_HOST", "VIRTUAL_ENV", "USER"):
        assert f'"{name}"' not in outcome.json_text


def test_no_call_can_tell_its_container_from_others(docker_box: Box) -> None:
    source = "import os\ndef f():\n    return [os.uname().nodename, os.getcwd()]"
    assert docker_box.play(source) == Returned('["toolhop", "/"]')


def test_the_description_says_what_holds(docker_box: Box) -> None:
    told = docker_box.pool.description
    assert told["kind"] == "docker"
    assert told["pid_1"] is True
    assert str(told["image"]).startswith("toolhop-sandbox:")
    assert {"landlock", "seccomp", "python", "engine", "runtime", "policy"} <= set(told)


def test_a_call_may_use_the_memory_that_it_is_given(docker_box: Box) -> None:
    source = "def f(n):\n    return len(b'x' * (n << 20))"
    assert docker_box.play(source, n=200) == Returned(str(200 << 20))
    assert docker_box.play(source, n=300) == OutOfMemory(256)
    docker_box.check_clean()


def test_sessions_at_once_are_started_a_few_at_a_time(engine: None) -> None:
    at_once, most = 0, 0
    lock = threading.Lock()

    class Counted(DockerEngine):
        def _run(self, client: Any, way: Path | Tunnel) -> str:
            nonlocal at_once, most
            with lock:
                at_once += 1
                most = max(most, at_once)
            try:
                return super()._run(client, way)
            finally:
                with lock:
                    at_once -= 1

    async def run() -> None:
        pool = PooledSandbox(Counted(), policy="none", max_workers=5)

        async def one(number: int) -> None:
            async with pool.session() as session:
                assert await session.call(ADD, {"a": number}) == Returned(str(number + 1))

        async with pool, anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(one, number)

    anyio.run(run)
    assert 1 <= most <= CREATES


def unavailable(engine: DockerEngine) -> SandboxUnavailable:
    async def run() -> None:
        async with PooledSandbox(engine) as pool, pool.session():
            pass

    with pytest.raises(SandboxUnavailable) as caught:
        anyio.run(run)
    return caught.value


def test_an_engine_elsewhere_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
    error = unavailable(DockerEngine(transport="socket"))
    assert error.message == "the engine at tcp://10.0.0.1:2375 is on another machine"
    assert "unset DOCKER_HOST" in error.fix


def test_a_socket_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    error = unavailable(DockerEngine())
    assert error.message.endswith(f"{tmp_path}/none.sock: No such file or directory")
    assert "DOCKER_HOST names" in error.fix


def test_a_socket_that_nobody_answers_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "d.sock"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/d.sock")
    error = unavailable(DockerEngine())
    assert "Connection refused" in error.message
    assert "nothing answers; start the engine" in error.fix


def test_a_worker_that_never_connects_is_told_at_once(
    engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the engine mounts another machine's folder: the socket is not in it."""
    monkeypatch.setattr(
        "toolhop_sandbox.docker.image.entry_command", lambda: ["/usr/local/bin/python3", "-V"]
    )
    error = unavailable(DockerEngine(transport="socket"))
    assert "its worker ended without connecting" in error.message
    assert "in a virtual machine" in error.fix


def test_a_folder_that_the_engine_does_not_see_is_told(
    engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = DockerEngine._create

    def elsewhere(self: DockerEngine, client: Any, folder: Path) -> str:
        return real(self, client, folder / "elsewhere")

    monkeypatch.setattr(DockerEngine, "_create", elsewhere)
    error = unavailable(DockerEngine(transport="socket"))
    assert "bind source path does not exist" in error.message
    assert "--transport attach" in error.fix


def test_a_runtime_that_is_not_there_leaves_no_container(engine: None) -> None:
    with no_more_containers():
        error = unavailable(DockerEngine(runtime="none-such"))
        by_its_full_name = unavailable(DockerEngine(runtime="io.containerd.none-such.v1"))
    assert "the engine has no runtime 'none-such'; it has " in error.message
    assert "runc" in error.message
    assert "the engine refused a container" in by_its_full_name.message


def test_a_base_that_cannot_be_had_is_told(engine: None) -> None:
    error = unavailable(DockerEngine(base="toolhop-no-such-base:1"))
    assert "cannot be laid over toolhop-no-such-base:1" in error.message
    assert "docker pull toolhop-no-such-base:1" in error.fix


def test_cancelling_a_start_leaves_no_container(engine: None) -> None:
    async def run() -> None:
        async with PooledSandbox(DockerEngine(), policy="none") as pool:
            for limit_s in (0.05, 0.15, 0.25):
                with anyio.move_on_after(limit_s):
                    async with pool.session():
                        await anyio.sleep_forever()

    with no_more_containers():
        anyio.run(run)


@contextmanager
def no_more_containers() -> Iterator[None]:
    """Of this process: other test processes have theirs."""
    yield
    client = containers.connect()
    try:
        mine = containers.labels()[containers.OWNER_LABEL]
        known = [one.id for one in containers.ours(client) if one.owner == mine]
    finally:
        client.close()
    # The shared boxes' own are alive by right.
    assert not [one for one in known if inspect(one)["State"]["Status"] != "running"]


def test_importing_the_engine_does_not_import_docker() -> None:
    code = "import sys, toolhop_sandbox.choose; sys.exit('docker' in sys.modules)"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0


def test_an_image_that_was_cleared_away_is_made_again(
    engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from docker.errors import ImageNotFound

    real = DockerEngine._create
    failed: list[int] = []

    def gone_once(self: DockerEngine, client: Any, folder: Path) -> str:
        if not failed:
            failed.append(1)
            raise ImageNotFound("no such image")
        return real(self, client, folder)

    monkeypatch.setattr(DockerEngine, "_create", gone_once)

    async def run() -> None:
        async with PooledSandbox(DockerEngine()) as pool, pool.session() as session:
            assert await session.call(ADD, {"a": 1}) == Returned("2")

    anyio.run(run)


@pytest.mark.parametrize("ci", [True, False], ids=["ci", "elsewhere"])
def test_without_an_engine_ci_fails_and_others_skip(
    ci: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///toolhop/none.sock")
    monkeypatch.setenv("CI", "1" if ci else "")
    expected = pytest.fail.Exception if ci else pytest.skip.Exception
    with pytest.raises(expected, match="no Docker engine answers"):
        require_engine()


def test_limits_are_passed_on(engine: None) -> None:
    async def run() -> None:
        limits = Limits(memory_mib=64)
        launcher = DockerEngine(limits=limits)
        async with PooledSandbox(launcher, limits, "none") as pool, pool.session() as session:
            program = Program("def f(n):\n    return len(b'x' * (n << 20))", "f")
            assert await session.call(program, {"n": 30}) == Returned(str(30 << 20))
            assert await session.call(program, {"n": 100}) == OutOfMemory(64)

    anyio.run(run)
