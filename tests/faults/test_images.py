"""The image is missing, old or spoilt."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.faults import runs
from tests.faults.engines import Engine
from toolhop_sandbox.docker import containers, image

pytestmark = pytest.mark.docker


def names(own: Engine) -> list[str]:
    """Of all images in the engine; the id where one has no name."""
    with own.client() as client:
        found = client.api.images()
    return sorted(name for one in found for name in one["RepoTags"] or [one["Id"]])


def take_away(own: Engine) -> None:
    own.forget(image.tag())


def put_spoilt(own: Engine, name: str) -> None:
    """An image of this name that holds one file and no python."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    repository, _, tag = name.partition(":")
    with own.client() as client:
        changes = [f"LABEL {containers.IMAGE_LABEL}=1"]
        client.api.import_image_from_data(
            buffer.getvalue(), repository=repository, tag=tag, changes=changes
        )


def test_an_image_that_goes_during_a_run_is_made_again(own: Engine, tmp_path: Path) -> None:
    items = runs.data(tmp_path, 2)
    run = runs.start(items, tmp_path / "logs", "--max-samples", "1", address=own.address)
    run.wait_for_calls(1)
    take_away(own)
    with own.client() as client:
        client.api.kill(own.containers()[0])
    runs.check_all_right(run.end(), 2, allowed=[1])
    assert image.tag() in names(own)
    runs.toolhop("sandbox", "clean", address=own.address)


def test_an_old_image_is_not_used_and_can_be_cleared_away(own: Engine, tmp_path: Path) -> None:
    old = f"{image.REPOSITORY}:0000000000000000"
    take_away(own)
    put_spoilt(own, old)
    items = runs.data(tmp_path, 2, pause_s=0)
    runs.check_all_right(
        runs.start(items, tmp_path / "logs", address=own.address).end(), 2, allowed=[0]
    )
    assert {old, image.tag()} <= set(names(own))
    assert old in runs.toolhop("sandbox", "clean", address=own.address).stdout
    assert names(own) == [image.tag()]


def test_an_image_without_python_is_made_again(own: Engine, tmp_path: Path) -> None:
    take_away(own)
    put_spoilt(own, image.tag())
    items = runs.data(tmp_path, 2, pause_s=0)
    flags = ("--max-samples", "1")
    ended = runs.start(items, tmp_path / "logs", *flags, address=own.address).end()
    runs.check_all_right(ended, 2, allowed=[0])
    # The spoilt one is gone as well: it had lost its name.
    assert names(own) == [image.tag()]
    assert own.containers() == []


def test_a_base_without_python_is_told(own: Engine, tmp_path: Path) -> None:
    put_spoilt(own, "no-python:1")
    items = runs.data(tmp_path, 1)
    flags = ("--sandbox-base", "no-python:1")
    ended = runs.start(items, tmp_path / "logs", *flags, address=own.address).end()
    assert ended.code == 1
    assert "the engine refused a container" in ended.said
    assert "no such file or directory" in ended.said
    assert own.containers() == []
    runs.toolhop("sandbox", "clean", address=own.address)
    with own.client() as client:
        client.api.remove_image("no-python:1")
