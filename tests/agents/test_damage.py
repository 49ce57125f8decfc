"""Runs of which a segment is damaged or lost: what is wrong is named, and the rest stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.agents.recorded import invoked
from tests.agents.test_segments import played
from toolhop_agents.runs.merge_command import merged_run
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.packing import Packing, pack
from toolhop_env.runs.segments import Segment, segments
from toolhop_env.runs.store import RunStore


def packed_in_fours(store: RunStore) -> RunStore:
    with store.held():
        pack(store, Packing(begin=1, traces=4), all_left=True)
    assert len(segments(store.folder)) >= 3
    return store


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return packed_in_fours(played(tmp_path_factory.mktemp("whole")))


@pytest.fixture
def run(whole: RunStore, tmp_path: Path) -> RunStore:
    return RunStore(shutil.copytree(whole.folder, tmp_path / "run"))


def flipped(one: Segment) -> None:
    content = bytearray(one.path.read_bytes())
    place = next(line.attempt.place for line in one.results() or () if line.attempt.place)
    content[place.offset + place.length // 2] ^= 0x40
    one.path.write_bytes(content)


def cut(one: Segment) -> None:
    one.path.write_bytes(one.path.read_bytes()[:-200])


def lost(one: Segment) -> None:
    one.path.unlink()


def without_index(one: Segment) -> None:
    one.index.unlink()


def with_damaged_index(one: Segment) -> None:
    content = bytearray(one.index.read_bytes())
    content[len(content) // 2] ^= 0x40
    one.index.write_bytes(content)


def flipped_without_index(one: Segment) -> None:
    flipped(one)
    without_index(one)


def lost_with_index(one: Segment) -> None:
    lost(one)
    without_index(one)


DAMAGED = (flipped, cut, lost, flipped_without_index, lost_with_index)
READERS: Sequence[Sequence[str]] = (
    ("score", "RUN"),
    ("diagnose", "RUN"),
    ("replay", "RUN", "--verify"),
    ("export", "RUN", "--to", "chat", "--out", "OUT"),
)


def said(run: RunStore, *words: str) -> tuple[int, str, str]:
    places = {"RUN": run.folder, "OUT": run.folder.parent / "out"}
    return invoked(*(places.get(word, word) for word in words))


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_who_reads_every_trace_names_the_segment_and_writes_nothing(
    command: Sequence[str], damage: Callable[[Segment], None], run: RunStore
) -> None:
    damage(second := segments(run.folder)[1])
    code, out, told = said(run, *command)
    assert (code, out) == (2, "")
    assert f"the segment {second.name.partition('-')[0]}" in told
    assert "put back a copy" in told
    assert not (run.folder.parent / "out").exists()


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_list_and_a_report_have_all_that_can_be_read(
    damage: Callable[[Segment], None], whole: RunStore, run: RunStore
) -> None:
    damage(second := segments(run.folder)[1])
    names = {one.episode for one in whole.attempts()}
    of_second = {one.episode for one in whole.attempts() if one.place
                 and one.place.segment == second.name}  # fmt: skip
    listed = 0 if second.results() is not None else 2
    code, out, told = said(run, "show", "RUN")
    assert code == listed, told
    here = {name for name in names if name in out}
    assert here >= names - of_second
    assert here == names or listed == 2
    code, out, told = said(run, "report", "RUN", "--out", "OUT")
    left = 1 if damage in (cut, flipped) else 4
    assert (code, f" {len(names) - left} episodes" in out) == (0, True), out
    assert f"left out: the segment {second.name.partition('-')[0]}" in told


def test_traces_behind_a_damaged_one_are_read_by_the_index(run: RunStore) -> None:
    flipped(second := segments(run.folder)[1])
    of_second = [one for one in run.attempts() if one.place and one.place.segment == second.name]
    found = [one for one in run.recorded() if one.place and one.place.segment == second.name]
    assert {one.file for one in found} == {one.file for one in of_second[1:]} | {""}
    assert "1 of its 4 traces cannot be read" in next(one.fault for one in found if not one.file)
    code, out, told = said(run, "show", "RUN", of_second[0].episode, "--json")
    assert (code, out, second.name in told) == (2, "", True)
    assert said(run, "show", "RUN", of_second[1].episode, "--json")[0] == 0


@pytest.mark.parametrize("damage", [without_index, with_damaged_index])
def test_a_lost_index_is_made_again(
    damage: Callable[[Segment], None], whole: RunStore, run: RunStore
) -> None:
    wanted = said(whole, "show", "RUN", "--mode", "mandatory")
    damage(segments(run.folder)[1])
    assert said(run, "show", "RUN", "--mode", "mandatory") == wanted
    assert segments(run.folder)[1].results() is not None


@pytest.mark.parametrize("damage", [cut, lost, flipped_without_index, lost_with_index])
def test_nothing_is_played_again_for_what_is_lost(
    damage: Callable[[Segment], None], run: RunStore
) -> None:
    damage(second := segments(run.folder)[1])
    code, _, told = said(run, "run", "--resume", "RUN")
    assert code == 2
    assert second.name.partition("-")[0] in told
    assert not list((run.folder / "episodes").iterdir())


@pytest.fixture(scope="module")
def two_parts(tmp_path_factory: pytest.TempPathFactory) -> list[RunStore]:
    folder = tmp_path_factory.mktemp("parts")
    return [packed_in_fours(played(folder, shard=(n, 2), epochs=4)) for n in (1, 2)]


@pytest.mark.parametrize("damage", DAMAGED)
def test_no_damaged_part_is_merged(
    damage: Callable[[Segment], None], two_parts: list[RunStore], tmp_path: Path
) -> None:
    parts = [RunStore(shutil.copytree(one.folder, tmp_path / one.folder.name)) for one in two_parts]
    damage(second := segments(parts[1].folder)[1])
    with pytest.raises(StoreError, match=rf"the segment {second.name.partition('-')[0]}"):
        merged_run(parts, tmp_path, "merged")
    assert not (tmp_path / "merged").exists()


def test_episodes_that_were_deleted_are_told_and_never_scored_as_none(tmp_path: Path) -> None:
    store = played(tmp_path)
    for path in (store.folder / "episodes").iterdir():
        path.unlink()
    for command in READERS:
        code, out, told = said(store, *command)
        assert (code, out) == (2, ""), command
        assert "put back a copy of the file" in told
    (store.folder / "results.jsonl").unlink()
    code, out, told = said(store, "score", "RUN")
    assert (code, out) == (2, "")
    assert "has no trace, though the run ended" in told
