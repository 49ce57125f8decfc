from __future__ import annotations

import resource
from pathlib import Path

import pytest

from toolhop_env.feedback import Level
from toolhop_env.messages import UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.runs import judgements
from toolhop_env.runs.catalog import read_trace
from toolhop_env.runs.files import StoreError, file_name, write_atomic
from toolhop_env.runs.judgements import Judgement
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Ended, Ending, Started
from toolhop_sandbox.outcome import JSON


def started(name: str = "e1") -> Started:
    return Started(
        episode=name,
        item="1",
        item_digest="0",
        question="Q",
        gold={"answer": "A", "hops": []},
        agent="p",
        mode="direct",
        call_format=CallFormat.NATIVE,
        feedback=Level.DETAILED,
        epoch=1,
        seed=0,
        messages=(UserMessage("Q"),),
        tools=(),
        at="2026-01-01T00:00:00.000+00:00",
    )


def test_traces_come_back_as_written_and_cut_off_ones_are_kept(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path, "run", {"status": "started"})
    with store.sink("whole") as sink:
        sink(started("whole"))
        sink(Ended(Ending.ANSWERED, 0.5))
    with store.sink("cut/off ..") as sink:
        sink(started("cut/off .."))
    cut, whole = RunStore.open(store.folder).traces()
    assert whole.events == (started("whole"), Ended(Ending.ANSWERED, 0.5))
    assert (cut.started.episode, cut.ended) == ("cut/off ..", None)
    assert all(path.parent == store.folder / "episodes" for path in tmp_path.rglob("*.jsonl"))


def test_a_line_that_a_crash_cut_short_loses_nothing_before_it(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path, "run", {})
    with store.sink("e") as sink:
        sink(started("e"))
    path = store.folder / "episodes" / "e.jsonl"
    whole = path.read_bytes()
    for length in range(len(whole) + 1):
        path.write_bytes(whole + whole[:length].rstrip(b"\n"))
        assert read_trace(path).events[0] == started("e")


def test_two_runs_of_one_name_get_two_folders(tmp_path: Path) -> None:
    one, two = (RunStore.create(tmp_path, "run", {}) for _ in range(2))
    assert one.folder != two.folder


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "ü", "a" * 300, "CON:1", "a\0b"])
def test_any_name_is_one_safe_file(name: str, tmp_path: Path) -> None:
    made = file_name(name)
    assert (tmp_path / made).parent == tmp_path
    assert not made.startswith(".")
    assert len(made) < 120
    assert made.isascii()
    assert file_name(name + "x") != made


def test_what_is_no_run_is_refused_with_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"has no manifest\.json"):
        RunStore.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match="cannot be read"):
        _ = RunStore.open(tmp_path).manifest
    (tmp_path / "bad.jsonl").write_text('{"kind": "nothing"}\n')
    with pytest.raises(StoreError, match="line 1 is not an event"):
        read_trace(tmp_path / "bad.jsonl")


def test_a_log_dir_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="pass another --log-dir"):
        RunStore.create(tmp_path / "file", "run", {})


def test_a_file_that_can_grow_no_more_stops_the_episode_with_the_path(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path, "run", {})
    most, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with store.sink("e") as sink:
        sink(started("e"))
        size = store.path("e").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, hard))
        try:
            with pytest.raises(StoreError, match=r"e\.jsonl cannot be written"):
                sink(Ended(Ending.ANSWERED, 0.5))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    assert store.path("e").stat().st_size == size


def test_every_attempt_has_a_file_of_its_own(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path, "run", {})
    with store.sink("e") as sink:
        sink(started("e"))
    before = store.path("e").read_bytes()
    with pytest.raises(StoreError, match="File exists"), store.sink("e"):
        pass
    assert store.path("e").read_bytes() == before


def test_one_process_plays_a_run_at_a_time(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path, "run", {})
    other = pytest.raises(StoreError, match="being played by another process")
    with store.held(), other, store.held():
        pass
    with store.held():
        pass


def test_replacing_a_file_never_shows_a_part(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_atomic(path, b"old")
    with path.open("rb") as before:
        write_atomic(path, b"new content")
        assert before.read() == b"old"
    assert path.read_bytes() == b"new content"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_of_runs_is_told_from_a_run(tmp_path: Path) -> None:
    for number in range(7):
        RunStore.create(tmp_path, f"run{number}", {})
    with pytest.raises(StoreError, match=r"folder of runs: give one of them \(run0, .*run4 and"):
        RunStore.open(tmp_path)
    with pytest.raises(StoreError, match="there is no folder"):
        RunStore.open(tmp_path / "nowhere")


def test_a_manifest_that_is_no_object_is_told(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path, "run", {})
    (store.folder / "manifest.json").write_text("[1]")
    with pytest.raises(StoreError, match="cannot be read: it is not a JSON object"):
        _ = store.manifest


def test_a_copy_without_the_empty_folder_can_be_gone_on_with(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path, "run", {})
    (store.folder / "episodes").rmdir()
    assert store.repair_index() == 0
    with store.sink("e") as sink:
        sink(started("e"))
    assert len(list(store.traces())) == 1


def test_a_run_that_cannot_be_begun_leaves_no_folder(tmp_path: Path) -> None:
    most, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(StoreError, match="cannot be written"):
            RunStore.create(tmp_path, "run", {"note": "more than fits"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    assert list(tmp_path.iterdir()) == []


def test_equal_answers_of_a_judge_are_held_once_and_others_apart(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    answers: list[JSON] = [{"verdict": "Solved"}, {"verdict": "Solved"}, True, 1, 1.0, None, "1"]
    wrote = [
        Judgement(f"e{n}", "solved", "digest", "a judge", answer)
        for n, answer in enumerate(answers)
    ]
    judgements.add(path, wrote)
    read = [judgements.Judgements.read(path).of(f"e{n}", "a judge") for n in range(len(answers))]
    found = [one["solved"] for one in read]
    assert [(type(one.answer), one.answer) for one in found] == [
        (type(answer), answer) for answer in answers
    ]
    together = judgements.Judgements.read(path)
    first, second = (together.of(name, "a judge")["solved"] for name in ("e0", "e1"))
    assert first.answer is second.answer
    assert first.judge is second.judge
