"""What is left of a host that was killed, and that nothing of a living one is touched."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from docker import DockerClient

from tests.sandbox.conftest import built
from tests.waiting import until
from toolhop_sandbox import owner
from toolhop_sandbox.docker import containers, folders, image

ROOT = Path(__file__).parents[2]

HOST = """
import anyio
from toolhop_sandbox.docker.engine import DockerEngine
from toolhop_sandbox.pool import PooledSandbox

async def main():
    pool = PooledSandbox(DockerEngine())
    async with pool, pool.session():
        print(pool._started[0].container_id, flush=True)
        await anyio.sleep(60)

anyio.run(main)
"""
IDLE = "from toolhop_sandbox import owner; print(owner.me(), flush=True); input()"


@pytest.fixture
def client(engine: None) -> Iterator[DockerClient]:
    found = containers.connect()
    yield found
    found.close()


def state(client: DockerClient, container_id: str) -> str:
    """What the engine says of a container; empty where there is none."""
    from docker.errors import NotFound

    try:
        return str(client.api.inspect_container(container_id)["State"]["Status"])
    except NotFound:
        return ""


@contextlib.contextmanager
def host(code: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process of ours and the first line that it says."""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.docker
def test_the_container_of_a_killed_host_ends_by_itself(client: DockerClient) -> None:
    with host(HOST) as (process, container_id):
        assert state(client, container_id) == "running"
        process.kill()
        process.wait()
        until(lambda: not state(client, container_id), "the container's end")


@pytest.mark.docker
def test_a_frozen_container_of_a_killed_host_is_swept(client: DockerClient) -> None:
    with host(HOST) as (process, container_id):
        client.api.pause(container_id)
        process.kill()
        process.wait()
        # Gone already where another test process has just swept.
        assert state(client, container_id) in ("paused", "")
        containers.sweep(client)
        assert state(client, container_id) == ""


@contextlib.contextmanager
def container(client: DockerClient, label: str) -> Iterator[str]:
    """A container of ours, made by hand, that does not end by itself."""

    made = client.api.create_container(
        anyio.run(built),
        [f"{image.HOME}/bin/python3", "-c", "import time; time.sleep(60)"],
        labels={containers.LABEL: "1", containers.OWNER_LABEL: label},
        network_disabled=True,
    )["Id"]
    client.api.start(made)
    try:
        yield made
    finally:
        containers.discard(client, made)


@pytest.mark.docker
def test_only_containers_of_dead_owners_are_swept(client: DockerClient) -> None:
    with host(IDLE) as (process, dead):
        process.kill()
    boot, _, rest = dead.partition(":")
    kept = [f"another-boot:{rest}", f"{boot}:1:{rest.partition(':')[2]}", "", "what"]
    with contextlib.ExitStack() as stack:
        _, alive = stack.enter_context(host(IDLE))
        doomed = stack.enter_context(container(client, dead))
        spared = [stack.enter_context(container(client, label)) for label in (alive, *kept)]
        containers.sweep(client)
        assert state(client, doomed) == ""
        assert [state(client, one) for one in spared] == ["running"] * 5


# --- owners


def test_a_living_process_is_not_gone() -> None:
    assert not owner.is_gone(owner.me())


def test_a_process_that_ended_is_gone() -> None:
    with host(IDLE) as (process, label):
        assert not owner.is_gone(label)
        process.kill()
        process.wait()
        assert owner.is_gone(label)


def test_another_process_of_the_same_id_is_not_the_owner() -> None:
    boot, namespace, pid, started = owner.me().split(":")
    assert owner.is_gone(f"{boot}:{namespace}:{pid}:{int(started) + 1}")


@pytest.mark.parametrize("part", [0, 1], ids=["boot", "namespace"])
def test_owners_elsewhere_are_never_taken_for_gone(part: int) -> None:
    parts = owner.me().split(":")
    parts[3] = "1"
    assert owner.is_gone(":".join(parts))
    parts[part] = "0"
    assert not owner.is_gone(":".join(parts))


@pytest.mark.parametrize("label", ["", ":", ":::", "a:b:c:d", "a:b:-1:d", "²:²:²:²"])
def test_labels_that_are_none_are_not_gone(label: str) -> None:
    assert not owner.is_gone(label)


def test_a_hidden_process_of_another_user_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(owner, "_started", lambda pid: "")
    monkeypatch.setattr(os, "kill", refuse)
    boot, namespace = owner.me().split(":")[:2]
    assert not owner.is_gone(f"{boot}:{namespace}:1:2")


# --- folders


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "place", lambda: tmp_path)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    return tmp_path


def test_a_folder_is_open_inside_and_closed_outside(place: Path) -> None:
    folder = folders.control_folder()
    assert folder.stat().st_mode & 0o777 == 0o755
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert len(str(folder / folders.SOCKET)) - len(str(place)) <= 107 - 39
    folders.discard(folder)
    assert list(place.iterdir()) == []


def test_only_folders_of_dead_owners_are_swept(place: Path) -> None:
    mine = folders.control_folder().parent
    with host(
        "from toolhop_sandbox.docker import folders; print(folders.prefix(), flush=True); input()"
    ) as (
        process,
        prefix,
    ):
        theirs = place / f"{prefix}abc"
        theirs.mkdir()
        assert folders.sweep_folders() == 0
        process.kill()
        process.wait()
    kept = [mine, place / "toolhop-x.y.z-abc", place / "toolhop-data", place / "other"]
    for path in kept[1:]:
        path.mkdir()
    assert folders.sweep_folders() == 1
    assert sorted(place.iterdir()) == sorted(kept)


def test_the_socket_path_fits_in_the_longest_place(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = Path("/var/tmp") / f"toolhop{os.getpid()}".ljust(30, "x")  # noqa: S108 -- short
    assert len(str(longest)) == 39
    longest.mkdir()
    try:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(longest))
        folder = folders.control_folder()
        assert folder.is_relative_to(longest)
        assert len(str(folder / folders.SOCKET)) <= 107
        folders.discard(folder)
    finally:
        longest.rmdir()
