"""Run folders of strangers who mean harm: each command ends, says why, and touches nothing else."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import hostile
from tests.agents.hostile import COMMANDS, FURTHER, KINDS, VALUES, Good, Scene, state
from tests.inline import inlined

FILES = ("manifest", "items", "lock", "judgements", "results", "episodes", "traces", "index")
"""The files of a run, by words in their names."""
EVERYWHERE = ("fifo", "device", "link", "dangling", "deep")
"""What every command meets; of the rest each meets a part."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    home = tmp_path_factory.mktemp("hostile")
    with inlined():
        return Scene(home / "scene", Good.made(home / "good"))


@pytest.fixture(autouse=True)
def _inline(inline_module: None) -> None:
    """Sandboxes start no process."""


def found(scene: Scene, word: str) -> Path:
    """The file of a run that a word is for, from the run's folder on."""
    names = {"index": "segments/", "traces": ".traces.", "results": "results.jsonl"}
    (path,) = (
        one for one in scene.good.files
        if names.get(word, word) in str(one) and (word == "index") == (".results." in one.name)
    )  # fmt: skip
    return path


def part(seed: str, commands: tuple[Any, ...], count: int) -> list[Any]:
    """Some of the commands, always the same ones for the same case."""
    return random.Random(seed).sample(commands, count)


def test_the_good_run_is_read_by_all(scene: Scene) -> None:
    scene.set()
    assert {" ".join(one): scene.invoked(one, {0}) for one in FURTHER} == {
        " ".join(one): "" for one in FURTHER
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("word", FILES)
def test_anything_may_stand_in_the_place_of_a_file(word: str, kind: str, scene: Scene) -> None:
    everywhere = kind in EVERYWHERE
    for command in COMMANDS if everywhere else part(word + kind, tuple(FURTHER), 3):
        scene.set()
        KINDS[kind](scene.run / found(scene, word), scene.outside)
        assert scene.invoked(command) == "", command


@pytest.mark.parametrize("kind", ["fifo", "link", "dangling", "device", "file"])
@pytest.mark.parametrize("name", ["episodes", "segments"])
def test_anything_may_stand_in_the_place_of_a_folder(name: str, kind: str, scene: Scene) -> None:
    for command in FURTHER:
        scene.set()
        place = scene.run / name
        place.rename(scene.home / "away")
        KINDS.get(kind, lambda path, _: path.write_bytes(b""))(place, scene.outside)
        assert scene.invoked(command) == "", command


@pytest.mark.parametrize("word", [*(word for word in FILES if word != "lock"), "native"])
def test_anything_may_stand_in_the_place_of_a_value(word: str, scene: Scene) -> None:
    path = found(scene, "items" if word == "native" else word)
    lines = scene.good.native() if word == "native" else hostile.lines_of(scene.good.folder / path)
    wrong = {}
    for number, (at, place) in enumerate(hostile.places_in(lines)):
        new = VALUES[number % len(VALUES)]
        for command in part(f"{word}{place}", tuple(FURTHER), 1):
            scene.set()
            changed = [*lines[:at], hostile.put(lines[at], place, new), *lines[at + 1 :]]
            hostile.write_lines(scene.run / path, changed)
            if said := scene.invoked(command):
                wrong[f"{at} {place} = {str(new)[:30]!r}, {command[0]}"] = said
    assert wrong == {}


MOVED: dict[str, Callable[[Scene], str]] = {
    "a device": lambda _: "file:///dev/zero",
    "a pipe": lambda scene: f"file://{_pipe(scene)}",
    "a file outside": lambda scene: f"file://{scene.outside}/run/items.jsonl",
    "a chain": lambda scene: f"simplecache::file://{scene.outside}/run/items.jsonl",
    "no URL": lambda _: "x\ud800",
}


def _pipe(scene: Scene) -> Path:
    os.mkfifo(path := scene.home / "pipe")
    return path


@pytest.mark.parametrize("url", MOVED)
def test_a_segment_may_be_said_to_be_anywhere(url: str, scene: Scene) -> None:
    for command in COMMANDS:
        scene.set()
        traces = scene.run / found(scene, "traces")
        place = {"url": MOVED[url](scene), "size": traces.stat().st_size, "sha256": "0" * 64}
        traces.with_name(traces.name.replace(".traces.jsonl.gz", ".elsewhere.json")).write_text(
            json.dumps(place)
        )
        traces.unlink()
        assert scene.invoked(command) == "", command


@pytest.fixture
def linked(scene: Scene) -> Iterator[Path]:
    """The good run by a link, as one may keep runs on another disk."""
    scene.set()
    link = scene.home / "link"
    link.symlink_to(scene.run)
    yield link
    link.unlink()


@pytest.mark.parametrize("command", ["show", "score", "explain"])
def test_the_folder_that_is_given_may_itself_be_a_link(
    command: str, linked: Path, scene: Scene
) -> None:
    assert scene.invoked((command, str(linked)), {0}) == ""


def test_a_lock_that_is_a_link_makes_no_file_outside(scene: Scene) -> None:
    scene.set()
    before = state(scene.outside)
    KINDS["dangling"](scene.run / "lock", scene.outside)
    assert scene.invoked(("run", "--resume", "RUN"), {2}) == ""
    assert state(scene.outside) == before
