"""Finished episodes packed into segments: nothing lost, nothing doubled, wherever it is cut."""

from __future__ import annotations

import gzip
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.env.test_run_index import events, write
from toolhop_env.attempt import Attempt, counting
from toolhop_env.runs import packing, segments
from toolhop_env.runs.elsewhere import Elsewhere
from toolhop_env.runs.files import StoreError, write_atomic
from toolhop_env.runs.index import INDEX
from toolhop_env.runs.judgements import Judgement
from toolhop_env.runs.packing import Disk, Packer, Packing, pack
from toolhop_env.runs.store import RunStore
from toolhop_env.sums import in_run
from toolhop_env.trace import Ending, Trace, to_line

FEW = Packing(begin=4, traces=3)
SCORED = 9
"""Episodes with a score in `store`."""


def filled(store: RunStore) -> RunStore:
    """Scored episodes, one of them at its second attempt; one errored, and one cut off."""
    write(store, events("0", 1, Ending.ERRORED))
    write(store, events("0", 2, Ending.ANSWERED, "B"))
    for number in range(1, SCORED):
        write(store, events(str(number), 1, Ending.ANSWERED, "A" if number % 2 else "B"))
    write(store, events("5-errored", 1, Ending.ERRORED))
    write(store, events("cut", 1, None))
    return store


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return filled(RunStore.create(tmp_path, "run", {"format": 3}))


def loose(store: RunStore) -> set[str]:
    return {path.name for path in (store.folder / "episodes").iterdir()}


def contents(store: RunStore) -> list[tuple[str, bytes]]:
    """Every trace by its file's name, to the byte."""
    return sorted((one.file, one.content) for one in store.recorded())


def placeless(attempts: list[Attempt]) -> list[Attempt]:
    return sorted((replace(one, place=None) for one in attempts), key=lambda one: one.file)


State = tuple[list[tuple[str, bytes]], list[Attempt], list[Attempt], list[Attempt]]


def state(store: RunStore) -> State:
    """All that readers get."""
    return (
        contents(store),
        placeless(list(store.attempts())),
        sorted((replace(one, place=None) for one in store.results()), key=in_run),
        [replace(one, place=None) for one in counting(store.scored_anew()) if one.ended],
    )


def names(store: RunStore) -> list[str]:
    return [segment.name for segment in segments.segments(store.folder)]


def test_packed_traces_read_as_before(store: RunStore) -> None:
    before = state(store)
    assert pack(store, FEW) == 9
    assert loose(store) == {f"{name}_direct_e1_a1.jsonl" for name in ("8", "5-errored", "cut")}
    assert len(names(store)) == 3
    assert state(store) == before
    assert pack(store, FEW) == 0, "fewer are left than packing begins at"
    assert pack(store, FEW, all_left=True) == 1
    assert state(store) == before
    assert len(loose(store)) == 2, "what has no score stays a file"


def test_a_segment_is_what_zcat_reads(store: RunStore) -> None:
    plain = dict(contents(store))
    pack(store, FEW)
    (first, *_) = segments.segments(store.folder)
    found = gzip.decompress(first.path.read_bytes())
    inside = ("0_direct_e1_a1", "0_direct_e1_a2", "1_direct_e1_a1")
    assert found == b"".join(plain[f"{name}.jsonl"] for name in inside)


def test_a_small_run_is_never_packed(store: RunStore) -> None:
    assert pack(store) == 0
    assert not names(store)
    assert len(loose(store)) == SCORED + 3


def test_an_errored_episode_is_packed_once_it_has_a_score(store: RunStore) -> None:
    pack(store, FEW, all_left=True)
    write(store, events("5-errored", 2, Ending.ANSWERED))
    assert store.named("5-errored_direct_e1_a1") is not None
    assert pack(store, FEW, all_left=True) == 2
    assert loose(store) == {"cut_direct_e1_a1.jsonl"}


def test_one_trace_opens_its_own_member_alone(store: RunStore) -> None:
    pack(store, FEW)
    wanted, *others = [one for one in store.attempts() if one.place]
    assert wanted.place
    path = store.folder / wanted.stored_in
    content = path.read_bytes()
    start, end = wanted.place.offset, wanted.place.offset + wanted.place.length
    path.write_bytes(b"x" * start + content[start:end] + b"x" * (len(content) - end))
    assert store.trace(wanted).started.episode == wanted.episode
    assert store.named(wanted.episode) == store.trace(wanted)
    spoilt = next(one for one in others if one.place and one.place.segment == wanted.place.segment)
    with pytest.raises(StoreError, match=r"is damaged at byte \d+: .*put back a copy"):
        store.trace(spoilt)
    with pytest.raises(StoreError, match="is damaged at byte"):
        list(store.traces())
    assert len(list(store.attempts())) == SCORED + 3, "the index is enough for what they come to"


def test_a_segment_cut_short_is_said_to_be(store: RunStore) -> None:
    pack(store, FEW)
    path = segments.segments(store.folder)[0].path
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreError, match="cut short"):
        list(store.traces())


@pytest.mark.parametrize("how", ["lost", "empty", "cut", "garbage", "other code", "a line lost"])
def test_an_index_of_a_segment_that_is_wanting_is_made_again(how: str, store: RunStore) -> None:
    pack(store, FEW)
    before, path = state(store), segments.segments(store.folder)[0].index
    whole = path.read_bytes()
    lines = gzip.decompress(whole).splitlines(keepends=True)
    path.unlink()
    changed = {
        "empty": b"", "cut": whole[:-9], "garbage": b"\xff\xfe\n[]\n",
        "other code": gzip.compress(b"".join([lines[0].replace(b'"scored_by": "', b'"scored_by": "0'), *lines[1:]])),  # noqa: E501
        "a line lost": gzip.compress(b"".join(lines[:-1])),
    }  # fmt: skip
    if how in changed:
        path.write_bytes(changed[how])
    assert state(store) == before
    assert gzip.decompress(path.read_bytes()) == b"".join(lines)


def test_while_a_run_is_played_readers_leave_the_index_of_a_segment_alone(store: RunStore) -> None:
    pack(store, FEW)
    path = segments.segments(store.folder)[0].index
    path.unlink()
    with store.held():
        assert len(list(store.attempts())) == SCORED + 3
        assert not path.exists()
        store.repair_index()
    assert path.exists()


def test_what_a_judge_says_later_is_taken_in(store: RunStore) -> None:
    pack(store, FEW)
    episode = "1_direct_e1_a1"
    with store.held():
        store.add_judgements([Judgement(episode, "q", "0", "j", True, panel="j")])
    index = segments.segments(store.folder)[0].index
    before = index.read_bytes()
    assert {one.judge for one in store.attempts()} == {"j"}
    assert index.read_bytes() != before, "scored with the answer, and kept"
    after = index.read_bytes()
    list(store.attempts())
    assert index.read_bytes() == after


def test_attempts_at_one_item_are_found_without_the_others(store: RunStore) -> None:
    pack(store, FEW)
    assert [one.item for one in store.attempts("3") if one.place] == ["3"]
    assert [one.episode for one in store.attempts("3_direct_e1_a1") if one.place] == [
        "3_direct_e1_a1"
    ]


class BrokenDisk(Disk):
    """Refuses the step of the number given, and each after it."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise StoreError("the disk is full")

    def write(self, path: Path, content: bytes) -> None:
        self.step()
        super().write(path, content)

    def sync(self, folder: Path) -> None:
        self.step()
        super().sync(folder)

    def remove(self, path: Path) -> None:
        self.step()
        super().remove(path)

    def put(self, path: Path, url: str) -> Elsewhere:
        self.step()
        return super().put(path, url)


class KillingDisk(BrokenDisk):
    """Ends the process there; in the midst of writing, where it is a file that is written."""

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, path: Path, content: bytes) -> None:
        if self.left == 0:
            path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}").write_bytes(content[:99])
        self.step()
        write_atomic(path, content)


STEPS = 24
"""More than packing the run above takes."""


def fails(store: RunStore, steps: int) -> bool:
    """Whether packing breaks at a step; the process lives."""
    try:
        pack(store, FEW, disk=BrokenDisk(steps))
    except StoreError:
        return True
    return False


def dies(store: RunStore, steps: int) -> bool:
    """The same in a process that is killed there."""
    return killed(lambda: pack(store, FEW, disk=KillingDisk(steps)))


def killed(act: Callable[[], object]) -> bool:
    """Whether a process that does this is killed."""
    child = os.fork()
    if not child:
        try:
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.mark.parametrize("how", [fails, dies])
def test_cut_at_any_step_nothing_is_lost_or_doubled(
    how: Callable[[RunStore, int], bool], tmp_path: Path
) -> None:
    cuts = 0
    for steps in range(STEPS):
        store = filled(RunStore.create(tmp_path, "run", {"format": 3}))
        before = state(store)
        cut = how(store, steps)
        cuts += cut
        assert state(store) == before, f"read as it is left, after {steps} steps"
        with store.held():
            assert store.repair_index() == SCORED + 3
            packed = {one.file for one in store.attempts() if one.place}
            assert not packed & loose(store)
            assert not list((store.folder / "segments").glob(".*"))
            pack(store, FEW, all_left=True)
        assert state(store) == before
        assert len(loose(store)) == 2
        known = (store.folder / INDEX).read_bytes().splitlines()
        assert len(known) == 2, "the header, and the errored one"
    assert cuts == 3 * (2 + 2) + 9 + 1, "each segment's two files and two folders; files; index"


def test_a_file_changed_after_it_was_packed_is_not_removed(store: RunStore) -> None:
    assert fails(store, 4)  # two files are written, and the folders synced
    path = store.path("0_direct_e1_a1")
    path.write_bytes(b"".join(map(to_line, events("0", 1, Ending.ERRORED, "C"))))
    with store.held(), pytest.raises(StoreError, match="move it away"):
        store.repair_index()
    assert path.exists()


@pytest.mark.parametrize("read", [RunStore.traces, RunStore.attempts, RunStore.scored_anew])
def test_what_is_packed_under_a_reader_is_read_once(
    read: Callable[[RunStore], Iterator[Trace | Attempt]], tmp_path: Path
) -> None:
    for moment in range(SCORED + 4):
        store = filled(RunStore.create(tmp_path, "run", {"format": 3}))
        pack(store, replace(FEW, begin=9))
        found = []
        reading = read(store)
        for number in range(SCORED + 4):
            if number == moment:
                pack(store, FEW, all_left=True)
            one = next(reading, None)
            found.append(one.episode if isinstance(one, Attempt) else one and one.started.episode)
        assert found.pop() is None
        assert sorted(map(str, found)) == sorted(one.episode for one in store.attempts())


def test_episodes_are_packed_while_others_are_played(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path, "run", {"format": 3})
    with store.held(), Packer(store, FEW) as packer:
        for number in range(40):
            write(store, events(str(number), 1, Ending.ANSWERED))
            packer.finished()
        packer.close()
        assert packer.fault == ""
    assert 1 < len(names(store)) < 14
    assert len(loose(store)) < 4
    assert sorted(int(one.item) for one in store.results()) == list(range(40))
    listed = (store.folder / INDEX).read_bytes().splitlines()[1:]
    assert len(listed) == len(loose(store))


def test_a_fault_of_packing_stops_packing_alone(store: RunStore) -> None:
    (store.folder / "segments").write_text("in the way")
    with Packer(store, FEW) as packer:
        packer.finished()
        packer.close()
    assert "segments" in packer.fault
    assert len(loose(store)) == SCORED + 3


def test_a_bug_in_packing_is_said_at_the_end(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(packing, "pack", broken)
    with Packer(store, FEW) as packer:
        packer.finished()
        packer.close()
    assert packer.fault == "RuntimeError: ours"
    assert len(loose(store)) == SCORED + 3
