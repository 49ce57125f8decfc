"""The index of a run: quick, derived, and never believed against a trace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolhop_env.attempt import Attempt, attempt_of
from toolhop_env.levels import Level
from toolhop_env.messages import Reply, Usage, UserMessage
from toolhop_env.reading import CallFormat
from toolhop_env.runs import index as run_index
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Errored, Score
from toolhop_env.trace import Ended, Ending, Event, Replied, Started, Trace, to_line


def started(item: str, attempt: int, *, parent: str = "", kept: int = 0) -> Started:
    return Started(
        episode=f"{item}_direct_e1_a{attempt}",
        item=item,
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
        attempt=attempt,
        parent=parent,
        prefix_turns=kept,
    )


def events(item: str, attempt: int, ending: Ending | None, text: str = "A") -> list[Event]:
    reply = Replied(1, Reply(f"<answer>{text}</answer>", usage=Usage(5, 2, 0.25)))
    found: list[Event] = [started(item, attempt), reply]
    return found if ending is None else [*found, Ended(ending, 0.5, "broken")]


def write(store: RunStore, found: Sequence[Event], *, index: bool = True) -> None:
    trace = Trace(tuple(found))
    with store.sink(trace.started.episode) as sink:
        for event in found:
            sink(event)
    if index and trace.ended:
        store.add_result(trace.started.episode, trace)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """One item right, one errored and then wrong, one cut off."""
    made = RunStore.create(tmp_path, "run", {"format": 2})
    write(made, events("1", 1, Ending.ANSWERED))
    write(made, events("2", 1, Ending.ERRORED))
    write(made, events("2", 2, Ending.ANSWERED, "B"))
    write(made, events("3", 1, None))
    return made


def index(store: RunStore) -> Path:
    return store.folder / "results.jsonl"


def from_traces(store: RunStore) -> list[Attempt]:
    return [
        attempt_of(trace, file=store.path(trace.started.episode).name) for trace in store.traces()
    ]


def test_attempts_are_all_there_and_results_are_those_that_count(store: RunStore) -> None:
    attempts = list(store.attempts())
    assert [(one.item, one.attempt, one.ended) for one in attempts] == [
        ("1", 1, True), ("2", 1, True), ("2", 2, True), ("3", 1, False),
    ]  # fmt: skip
    assert attempts == from_traces(store)
    results = {one.item: one.verdict for one in store.results()}
    assert set(results) == {"1", "2"}
    assert all(isinstance(verdict, Score) for verdict in results.values())
    assert [one.spent.cost_usd for one in attempts] == [0.25] * 4
    assert isinstance(attempts[3].verdict, Errored)


def test_what_the_index_says_is_not_read_from_the_traces(store: RunStore) -> None:
    lines = run_index.read(index(store))
    assert sorted(lines) == [
        f"{item}_direct_e1_a{n}.jsonl" for item, n in (("1", 1), ("2", 1), ("2", 2))
    ]
    before = list(store.attempts())
    path = store.path("1_direct_e1_a1")
    stat = path.stat()
    path.write_bytes(b"x" * stat.st_size)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert list(store.attempts()) == before


@pytest.mark.parametrize("how", ["lost", "empty", "cut", "garbage", "other code", "a line lost"])
def test_an_index_that_is_wanting_is_made_again(how: str, store: RunStore) -> None:
    before, whole = list(store.attempts()), index(store).read_bytes()
    lines = whole.splitlines(keepends=True)
    changed = {
        "empty": b"", "cut": whole[:-20], "garbage": b"\xff\xfe\n[]\n" + whole,
        "other code": lines[0].replace(run_index.scored_by().encode(), b"0") + lines[1],
        "a line lost": b"".join(lines[:-1]),
    }  # fmt: skip
    index(store).unlink()
    if how in changed:
        index(store).write_bytes(changed[how])
    assert list(store.attempts()) == before
    assert run_index.read(index(store)).keys() == {one.file for one in before if one.ended}
    assert index(store).read_bytes().startswith(run_index.header())


def test_a_trace_that_was_changed_is_scored_again(store: RunStore) -> None:
    path = store.path("1_direct_e1_a1")
    path.write_bytes(b"".join(map(to_line, events("1", 1, Ending.ANSWERED, "C"))))
    os.utime(path, ns=(1, 1))
    verdict = next(store.attempts()).verdict
    assert isinstance(verdict, Score)
    assert not verdict.value("strict")


def test_a_trace_that_had_ended_and_is_lost_or_cut_is_told(store: RunStore) -> None:
    path = store.path("1_direct_e1_a1")
    whole = path.read_bytes()
    lost = "1_direct_e1_a1.jsonl cannot be read as a trace: it is not there, and the run's index"
    for content, says in ((None, lost), (whole[:-40], "of its"), (b"", ": 0 of its")):
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        for read in (RunStore.attempts, RunStore.traces, RunStore.scored_anew):
            with pytest.raises(StoreError, match=says):
                list(read(store))
        with store.held(), pytest.raises(StoreError, match="put back a copy of the file"):
            store.repair_index()
        told: list[StoreError] = []
        assert len(list(store.attempts(faults=told.append))) == 3, "a list has all the others"
        assert len(told) == 1
    index(store).write_bytes(index(store).read_bytes().replace(b"scored_by", b"of_other_code"))
    with pytest.raises(StoreError, match="of its"):
        list(store.attempts())
    path.write_bytes(whole)
    assert len(list(store.attempts())) == 4


def test_while_a_run_is_played_readers_leave_its_index_alone(store: RunStore) -> None:
    index(store).write_bytes(run_index.header())
    with store.held():
        assert len(list(store.attempts())) == 4
        assert index(store).read_bytes() == run_index.header()
        store.repair_index()
    assert len(run_index.read(index(store))) == 3


def test_an_index_cut_short_is_repaired_before_it_is_added_to(store: RunStore) -> None:
    index(store).write_bytes(index(store).read_bytes()[:-9])
    with store.held():
        assert store.repair_index() == 4
        write(store, events("4", 1, Ending.ANSWERED))
    assert len(run_index.read(index(store))) == 4
    assert list(store.attempts()) == from_traces(store)


def test_a_file_that_is_empty_or_whose_first_line_is_cut_is_no_attempt(store: RunStore) -> None:
    store.path("5_direct_e1_a1").write_bytes(b"")
    store.path("6_direct_e1_a1").write_bytes(to_line(started("6", 1))[:40])
    assert len(list(store.attempts())) == 4
    store.path("7_direct_e1_a1").write_bytes(b"nonsense\n")
    with pytest.raises(StoreError, match="7_direct_e1_a1"):
        list(store.attempts())


def test_a_folder_that_cannot_be_written_is_read_all_the_same(store: RunStore) -> None:
    before = list(store.attempts())
    index(store).unlink()
    index(store).mkdir()  # nothing can be written there, by root neither
    assert list(store.attempts()) == before


@given(cut=st.integers(0, 4000))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wherever_it_is_cut_the_results_are_the_same(cut: int, store: RunStore) -> None:
    if index(store).exists():
        content = index(store).read_bytes()
        index(store).write_bytes(content[:cut])
    assert list(store.attempts()) == from_traces(store)
