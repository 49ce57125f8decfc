from __future__ import annotations

import io
import json
import os
import re
import tarfile
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result
from docker import DockerClient

from tests.sandbox.conftest import require_engine
from toolhop_agents.cli import sandbox as command
from toolhop_sandbox import owner
from toolhop_sandbox.docker import containers, image, upkeep
from toolhop_sandbox.doctor import Check, Diagnosis
from toolhop_sandbox.errors import SandboxUnavailable


def toolhop(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(command.sandbox, arguments)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def told(*arguments: str) -> object:
    return json.loads(toolhop(*arguments, "--json").stdout)


@pytest.fixture
def client() -> Iterator[DockerClient]:
    require_engine()
    found = containers.connect()
    yield found
    found.close()


def diagnosis(*runs: str, auto: str | None = None) -> Diagnosis:
    checks = (
        Check("Landlock", ok=True, detail="ABI [7]"),
        Check("Docker engine", ok=runs != (), detail="none", fix="start it"),
    )
    return Diagnosis(checks, auto, runs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "code", "verdict"),
    [
        (diagnosis("docker", "process", auto="docker"), 0, "--sandbox auto takes docker."),
        (diagnosis("process", auto="process"), 0, "--sandbox auto takes process."),
        (diagnosis("process"), 0, "--sandbox auto fails, --sandbox process runs."),
        (diagnosis(), 3, "No sandbox runs here."),
    ],
    ids=["both", "process", "broken-engine", "none"],
)
def test_doctor_says_what_runs(
    found: Diagnosis, code: int, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def examine() -> Diagnosis:
        return found

    monkeypatch.setattr(command, "examine", examine)
    result = toolhop("doctor", code=code)
    assert verdict in result.stderr
    assert "ABI [7]" in result.stdout
    assert ("fix: start it" in result.stdout) is (code == 3)
    shown = json.loads(toolhop("doctor", "--json", code=code).stdout)
    assert shown["runs"] == list(found.runs)
    assert shown["checks"][0] == {"name": "Landlock", "ok": True, "detail": "ABI [7]", "fix": ""}


@pytest.mark.docker
def test_doctor_examines_this_machine(client: DockerClient) -> None:
    shown = told("doctor")
    assert isinstance(shown, dict)
    assert shown["auto"] == "docker"
    assert shown["runs"] == ["docker", "process"]
    details = {check["name"]: check["detail"] for check in shown["checks"]}
    assert client.version()["Version"] in details["Docker engine"]
    assert "called in" in details["call in a container"]
    assert "called in" in details["call in a process"]


def test_doctor_without_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///toolhop/none.sock")
    shown = told("doctor")
    assert isinstance(shown, dict)
    assert (shown["auto"], shown["runs"]) == ("process", ["process"])
    engine = next(check for check in shown["checks"] if check["name"] == "Docker engine")
    assert not engine["ok"]
    assert "DOCKER_HOST names" in engine["fix"]


@pytest.mark.parametrize("arguments", [["build"], ["clean"], ["stats"]])
def test_without_an_engine_the_fix_is_told(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///toolhop/none.sock")
    result = CliRunner().invoke(command.sandbox, arguments)
    assert isinstance(result.exception, SandboxUnavailable)
    assert "DOCKER_HOST names" in result.exception.fix
    assert result.stdout == ""


@pytest.mark.docker
def test_build_prints_the_name(client: DockerClient) -> None:
    result = toolhop("build")
    assert result.stdout == f"{image.tag()}\n"
    assert "MB, ready in" in result.stderr
    assert client.images.get(image.tag()).labels[containers.IMAGE_LABEL] == "1"


@pytest.mark.docker
def test_build_makes_the_image_again_if_forced(
    client: DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A name of its own, for other tests use the real one at this moment.
    name = f"{image.REPOSITORY}:forced-{os.getpid()}"
    monkeypatch.setattr(image, "tag", lambda base=None: name)
    made = []
    try:
        for arguments in (["build"], ["build"], ["build", "--rebuild"]):
            assert toolhop(*arguments).stdout == f"{name}\n"
            made.append(containers.image_id(client, name))
        assert made[0] == made[1] != made[2]
        # The one that lost its name does not stay.
        assert containers.image_id(client, made[0]) == ""
    finally:
        assert containers.discard_image(client, name)


@pytest.fixture
def old(client: DockerClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An image of an earlier version, the only one that `clean` is shown."""
    name = f"{image.REPOSITORY}:old-{os.getpid()}"
    empty = io.BytesIO()
    tarfile.open(fileobj=empty, mode="w").close()
    repository, _, tag = name.partition(":")
    client.api.import_image_from_data(
        empty.getvalue(),
        repository=repository,
        tag=tag,
        changes=[f"LABEL {containers.IMAGE_LABEL}=1"],
    )
    real = upkeep.images
    # Other tests use the others at this moment.
    monkeypatch.setattr(upkeep, "images", lambda c: [i for i in real(c) if i.name == name])
    yield name
    if name in {one.name for one in real(client)}:
        client.api.remove_image(name)


@pytest.mark.docker
def test_clean_removes_old_images(client: DockerClient, old: str) -> None:
    assert old in [one.name for one in upkeep.images(client)]
    result = toolhop("clean")
    assert f"image {old}\n" in result.stdout
    assert "1 images" in result.stderr
    assert list(upkeep.images(client)) == []


@pytest.mark.docker
def test_clean_leaves_an_image_in_use_and_the_current_one(
    client: DockerClient, old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = client.api.create_container(old, ["/none"], network_disabled=True)["Id"]
    try:
        result = toolhop("clean")
        assert f"{old} stays: a container uses it" in result.stderr
    finally:
        client.api.remove_container(made)
    monkeypatch.setattr(image, "tag", lambda base=None: old)
    assert old not in toolhop("clean").stdout
    assert f"image {old}\n" in toolhop("clean", "--all").stdout


@pytest.mark.docker
def test_clean_removes_ended_containers_and_leaves_others(client: DockerClient, old: str) -> None:
    boot, namespace, pid, started = owner.me().split(":")
    dead = f"{boot}:{namespace}:{pid}:{int(started) + 1}"
    marks = {containers.LABEL: "1", containers.OWNER_LABEL: dead}
    ours = client.api.create_container(old, ["/none"], labels=marks, network_disabled=True)["Id"]
    alive = client.api.create_container(
        old, ["/none"], labels=containers.labels(), network_disabled=True
    )["Id"]
    foreign = client.api.create_container(old, ["/none"], network_disabled=True)["Id"]
    try:
        removed = told("clean")
        assert isinstance(removed, dict)
        left = {one["Id"] for one in client.api.containers(all=True)}
        assert ours not in left
        assert {alive, foreign} <= left
        assert [one["name"] for one in removed["in_use"]] == [old]
    finally:
        for one in (ours, alive, foreign):
            containers.discard(client, one)


@pytest.mark.docker
def test_stats_tell_age_owner_and_memory(client: DockerClient) -> None:
    name = toolhop("build").stdout.strip()
    python = [f"{image.HOME}/bin/python3", "-c", "import time; time.sleep(60)"]
    made = client.api.create_container(
        name, python, labels=containers.labels(), network_disabled=True
    )["Id"]
    client.api.start(made)
    try:
        rows = told("stats")
        assert isinstance(rows, list)
        row = next(row for row in rows if row["id"] == made)
        assert row["state"] == "running"
        assert row["owner_pid"] == os.getpid()
        assert row["owner_alive"] is True
        assert 0 <= row["age_s"] < 60
        assert 0.1 < row["memory_mib"] < 100
        result = toolhop("stats")
        assert made[:12] in result.stdout
        assert re.search(r"\d+ containers?\n", result.stderr)
    finally:
        containers.discard(client, made)
