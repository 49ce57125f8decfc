from __future__ import annotations

import io
import os
import platform
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.conformance import Box, Small
from toolhop_sandbox.docker import containers, image, upkeep
from toolhop_sandbox.errors import SandboxUnavailable

FILES = {"toolhop_sandbox/worker/zygote.py": b"1"}


def tag_with(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> str:
    monkeypatch.setattr(image, "worker_files", lambda: files)
    return image.tag()


def test_the_tag_tells_the_content(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = [
        image.tag(),
        image.tag("python:3.12-slim"),
        tag_with(monkeypatch, FILES),
        tag_with(monkeypatch, {"toolhop_sandbox/worker/zygote.py": b"2"}),
        tag_with(monkeypatch, {"toolhop_sandbox/worker/zygot.py": b"1"}),
        tag_with(monkeypatch, {**FILES, "x": b""}),
    ]
    monkeypatch.setattr(image, "RECIPE", "another")
    tags.append(tag_with(monkeypatch, FILES))
    monkeypatch.setattr(sys, "version", "3.99")
    tags.append(tag_with(monkeypatch, FILES))
    assert len(set(tags)) == len(tags)
    assert all(tag.startswith("toolhop-sandbox:") for tag in tags)


def test_the_tag_is_the_same_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert image.tag() == image.tag()
    assert tag_with(monkeypatch, FILES) == tag_with(monkeypatch, dict(FILES))


def test_the_worker_needs_only_what_the_image_holds() -> None:
    names = set(image.worker_files())
    assert {
        "toolhop_sandbox/__init__.py",
        "toolhop_sandbox/worker/zygote.py",
        "toolhop_sandbox/worker/policy/__init__.py",
        "toolhop_sandbox/worker/policy/guards.py",
    } <= names
    assert {name.split("/")[0] for name in names} == {"toolhop_sandbox", "RestrictedPython"}
    assert not any("test" in Path(name).parts for name in names)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tarfile.TarFile]:
    path = tmp_path_factory.mktemp("image") / "image.tar"
    image.build_from_host(path)
    with tarfile.open(path) as opened_archive:
        yield opened_archive
    path.unlink()


def test_the_image_holds_one_program(archive: tarfile.TarFile) -> None:
    programs = {
        member.name
        for member in archive
        if member.isfile() and member.mode & 0o111 and ".so" not in member.name
    }
    assert programs == {"usr/local/bin/python3"}
    names = {Path(name).name for name in archive.getnames()}
    assert not names & {"sh", "bash", "dash", "busybox", "apt", "pip", "perl", "env"}


def test_the_image_belongs_to_root_and_is_small(archive: tarfile.TarFile) -> None:
    members = archive.getmembers()
    assert {(member.uid, member.gid, member.mtime) for member in members} == {(0, 0, 0)}
    assert not any(member.mode & 0o6022 for member in members)
    assert not any(member.name.endswith(".py") for member in members)
    assert sum(member.size for member in members) < 80 << 20


def test_no_owner_and_no_power_of_a_file_gets_into_the_image(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name, mode in {"private": 0o600, "powerful": 0o6711}.items():
        (root / name).touch()
        if not os.geteuid():
            os.chown(root / name, 12345, 12345)
        (root / name).chmod(mode)
    image._write_tar(root, tmp_path / "image.tar")
    with tarfile.open(tmp_path / "image.tar") as archive:
        modes = {member.name: member.mode for member in archive}
        assert modes == {"private": 0o644, "powerful": 0o755}
        assert {(member.uid, member.gid, member.uname) for member in archive} == {(0, 0, "root")}


def test_the_image_holds_no_way_out(archive: tarfile.TarFile) -> None:
    names = set(archive.getnames())
    library = f"usr/local/lib/python{sys.version_info.major}.{sys.version_info.minor}"
    assert any(name.endswith("/toolhop_sandbox/worker/zygote.pyc") for name in names)
    for left_out in ("site-packages/pip", "ensurepip", "test", "tkinter", "multiprocessing"):
        assert f"{library}/{left_out}" not in names


def test_other_systems_are_told_to_use_a_base(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailable, match="on Linux only, not darwin") as caught:
        image.build_from_host(tmp_path / "image.tar")
    assert "--sandbox-base python:" in caught.value.fix


def test_without_ldd_a_base_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(SandboxUnavailable, match="ldd is missing") as caught:
        image._linked({"/bin/true"})
    assert "--sandbox-base python:" in caught.value.fix


@pytest.mark.docker
class TestOverABase(Small):
    """The worker over a base image: our own, since it holds python3 where the official ones do."""

    @pytest.fixture
    def box(self, based_docker_box: Box) -> Box:
        return based_docker_box

    def test_it_runs_the_worker_of_the_upper_layer(self, box: Box) -> None:
        worker = box.pool._started[0]
        client = containers.connect()
        try:
            told = client.api.inspect_container(worker.container_id)  # type: ignore[attr-defined]
            labels = client.images.get(told["Config"]["Image"]).labels
        finally:
            client.close()
        assert "PYTHONPATH=/opt/toolhop" in told["Config"]["Env"]
        assert labels[containers.IMAGE_LABEL] == "1"


def test_the_worker_imports_no_third_party_package_but_one() -> None:
    code = (
        "import sys; before = set(sys.modules); "
        "from toolhop_sandbox.worker import zygote, standby; standby.warm(); "
        "print(*sorted({n.partition('.')[0] for n in set(sys.modules) - before}))"
    )
    root = Path(__file__).parents[2]
    out = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    foreign = {name for name in out.stdout.split() if name not in sys.stdlib_module_names}
    assert foreign <= {"toolhop_sandbox", "RestrictedPython"}


@pytest.mark.docker
def test_clean_leaves_the_image_of_another_installation_that_is_there(
    engine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = containers.connect()
    try:
        there, gone = f"{image.REPOSITORY}:another-one", f"{image.REPOSITORY}:a-gone-one"
        homes = {there: tmp_path, gone: tmp_path / "gone"}
        for name, folder in homes.items():
            label = f"{platform.node()}:{folder}"
            marks = [
                f"LABEL {containers.IMAGE_LABEL}=1",
                f'LABEL {containers.HOME_LABEL}="{label}"',
            ]
            repository, _, tag = name.partition(":")
            client.api.import_image_from_data(
                empty_tar(name), repository=repository, tag=tag, changes=marks
            )
        # Of what else is in this engine nothing is looked at.
        found = [one for one in upkeep.images(client) if one.name in homes]
        monkeypatch.setattr(upkeep, "images", lambda _: iter(found))
        monkeypatch.setattr(containers, "ours", lambda _: iter(()))
        removed = upkeep.clean(client)
        assert [one.name for one in removed.images] == [gone]
        assert removed.in_use == ()
        assert containers.image_id(client, there)
    finally:
        for name in homes:
            containers.discard_image(client, name)
        client.close()


def empty_tar(name: str) -> bytes:
    """An archive of one file, which tells two images apart."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name.partition(":")[2]))
    return buffer.getvalue()
