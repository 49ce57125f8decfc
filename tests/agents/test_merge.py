"""A run in parts, put together: the same as the run in one, and refused where it is not one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner

from toolhop_agents.runs.command import run
from toolhop_agents.runs.execute import execute
from toolhop_agents.runs.merge_command import merge, merged_run
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.runs.unit import Units
from toolhop_env.runs.files import EPISODES, StoreError
from toolhop_env.runs.store import ITEMS, RunStore
from toolhop_tools.load import load

SETTINGS = RunSettings(
    data="builtin", sandbox="process", agent="repairing:0.5", limit="7", epochs=2, max_samples=1
)
TIMES = {"at", "wall_s", "mtime_ns", "started_at", "ended_at", "tool_s", "size"}
"""And the size of a file that holds some, in more or fewer digits."""


def played(folder: Path, **changes: object) -> RunStore:
    return anyio.run(execute, SETTINGS.model_copy(update={"log_dir": folder, **changes})).store


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return played(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Sequence[RunStore]:
    folder = tmp_path_factory.mktemp("parts")
    return [played(folder, shard=(number, 3)) for number in (1, 2, 3)]


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(entry) for key, entry in value.items() if key not in TIMES}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def lines(path: Path) -> list[Any]:
    return [timeless(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 200])
def test_each_episode_is_in_one_part(count: int) -> None:
    items = load("builtin").items
    every = [unit.name for unit in Units(("mandatory", "free"), 2, items)]
    dealt = [Units(("mandatory", "free"), 2, items, (n + 1, count)) for n in range(count)]
    assert sorted(unit.name for part in dealt for unit in part) == sorted(every)
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert [unit.name for unit in islice(dealt[0], 3)] == every[::count][:3]


def test_the_whole_is_the_run_in_one(
    whole: RunStore, parts: Sequence[RunStore], tmp_path: Path
) -> None:
    merged = merged_run([parts[2], parts[0], parts[1]], tmp_path)
    assert (merged.folder / ITEMS).read_bytes() == (whole.folder / ITEMS).read_bytes()
    names = {path.name for path in (whole.folder / EPISODES).iterdir()}
    assert {path.name for path in (merged.folder / EPISODES).iterdir()} == names
    assert len(names) == 14
    for name in names:
        assert lines(merged.folder / EPISODES / name) == lines(whole.folder / EPISODES / name)
    indexes = [lines(store.folder / "results.jsonl") for store in (merged, whole)]
    assert sorted(indexes[0], key=str) == sorted(indexes[1], key=str)
    one, other = timeless(merged.manifest), timeless(whole.manifest)
    assert len(one.pop("sessions")) == 3 * len(other.pop("sessions"))
    for manifest in (one, other):
        manifest["settings"].pop("log_dir")
    assert one == other
    again = RunSettings.model_validate(merged.manifest["settings"])
    assert again.shard is None


def test_a_part_is_resumed_as_that_part(parts: Sequence[RunStore], tmp_path: Path) -> None:
    folder = tmp_path / "part"
    shutil.copytree(parts[1].folder, folder)
    store = RunStore.open(folder)
    for path in list((folder / EPISODES).iterdir())[:2]:
        path.unlink()
    (folder / "results.jsonl").unlink()
    cut = store.manifest | {"status": "cancelled"}
    store.write_manifest(cut)
    with pytest.raises(StoreError, match=r"is not finished \(cancelled\): resume it with"):
        merged_run([parts[0], store, parts[2]], tmp_path / "none")
    result = CliRunner().invoke(run, ["--resume", str(folder)])
    assert result.exit_code == 0, result.output
    assert len(list((folder / EPISODES).iterdir())) == len(
        list((parts[1].folder / EPISODES).iterdir())
    )
    merged_run([parts[0], store, parts[2]], tmp_path / "all")


def test_what_is_no_whole_run_is_refused(
    whole: RunStore, parts: Sequence[RunStore], tmp_path: Path
) -> None:
    other = played(tmp_path / "other", shard=(2, 3), seed=1)
    refused = [
        ([parts[0], whole], "is no part of a run: it was played without --shard"),
        ([parts[0], parts[2]], "of 3 parts these are missing: 2/3"),
        ([*parts, parts[1]], "are both part 2"),
        ([parts[0], other, parts[2]], "they differ in the setting seed"),
    ]
    for given, says in refused:
        with pytest.raises(StoreError, match=says):
            merged_run(given, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_copy_that_breaks_leaves_no_run(parts: Sequence[RunStore], tmp_path: Path) -> None:
    with parts[1].held(), pytest.raises(StoreError, match="is being played by another process"):
        merged_run(parts, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_command(parts: Sequence[RunStore], tmp_path: Path) -> None:
    given = [str(part.folder) for part in parts]
    result = CliRunner().invoke(merge, [*given, "--log-dir", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "repairing:0.5" in result.stdout
    assert len(list(tmp_path.iterdir())) == 1
