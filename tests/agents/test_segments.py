"""Runs whose episodes are packed: every command says of them what it says of single files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest

from tests.agents.recorded import invoked
from tests.agents.test_relytoolbench_runs import data as data
from tests.env.test_packing import contents, state
from toolhop_agents.runs.execute import execute
from toolhop_agents.runs.merge_command import merged_run
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.runs import packing
from toolhop_env.runs.files import StoreError
from toolhop_env.runs.packing import Packing, move, pack
from toolhop_env.runs.segments import segments
from toolhop_env.runs.store import RunStore

FEW = Packing(begin=4, traces=3)
SETTINGS = RunSettings(
    data="builtin", sandbox="process", agent="repairing:0.5", limit="7", epochs=2, max_samples=1
)


def played(folder: Path, **changes: object) -> RunStore:
    return anyio.run(execute, SETTINGS.model_copy(update={"log_dir": folder, **changes})).store


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return played(tmp_path_factory.mktemp("whole"))


def copied(store: RunStore, folder: Path) -> RunStore:
    return RunStore(shutil.copytree(store.folder, folder / "run"))


def as_files(store: RunStore, folder: Path) -> RunStore:
    return copied(store, folder)


def packed(store: RunStore, folder: Path) -> RunStore:
    made = copied(store, folder)
    with made.held():
        pack(made, FEW)
    assert len(list((made.folder / "episodes").iterdir())) < 4
    return made


def moved(store: RunStore, folder: Path) -> RunStore:
    made = copied(store, folder)
    with made.held():
        pack(made, FEW, all_left=True)
        move(made, f"file://{folder / 'far'}")
    assert not list((made.folder / "segments").glob("*.traces.jsonl.gz"))
    return made


COMMANDS: dict[str, Sequence[str]] = {
    "list": ("show", "RUN"),
    "list failed": ("show", "RUN", "--failed"),
    "show": ("show", "RUN", "architecture-2"),
    "show one": ("show", "RUN", "architecture-2_mandatory_e2_a1", "--json"),
    "score": ("score", "RUN"),
    "score by": ("score", "RUN", "--by", "domain", "--json"),
    "score episodes": ("score", "RUN", "--episodes"),
    "diagnose": ("diagnose", "RUN"),
    "explain": ("explain", "RUN", "--json"),
    "replay": ("replay", "RUN", "--verify", "--json"),
    "compare": ("compare", "RUN", "OTHER", "--json"),
    "report": ("report", "RUN", "--out", "OUT.html"),
    "chat": ("export", "RUN", "--to", "chat", "--out", "OUT.jsonl"),
    "atif": ("export", "RUN", "--to", "atif", "--out", "OUT"),
    "inspect": ("export", "RUN", "--to", "inspect", "--out", "OUT"),
}


def said(store: RunStore, other: RunStore, command: Sequence[str]) -> tuple[object, ...]:
    """Exit code, output and files that a command makes, without names of folders."""
    folder = store.folder.parent
    out = folder / "out"
    names = {"RUN": store.folder, "OTHER": other.folder, "OUT": out, "OUT.html": out / "r.html"}
    names["OUT.jsonl"] = out / "chat.jsonl"
    out.mkdir(exist_ok=True)
    code, text, told = invoked(*(names.get(word, word) for word in command))
    made = {path.name: path.stat().st_size for path in out.rglob("*") if path.is_file()}
    shutil.rmtree(out)
    return code, _plain(text, folder), _plain(told, folder), _sizes(made)


def _plain(text: str, folder: Path) -> object:
    text = text.replace(str(folder), "FOLDER")
    # Where a trace lies is what differs; the episode is named in either.
    text = re.sub(r"episodes/[\w.-]+?\.jsonl|segments/[\w.-]+ \([\w.-]+\)", "TRACE", text)
    return re.sub(r"\d+(\.\d+)? [kM]B|\d+,\d+ bytes|\d{4}-\d\d-\d\dT[\d:.+-]+", "N", text)


def _sizes(made: dict[str, int]) -> object:
    """Names, and how much is in all of them: packed pages and times differ by some bytes."""
    return sorted(made), round(sum(made.values()) / 40_000)


@pytest.mark.parametrize("layout", [packed, moved])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reads_what_is_packed(
    name: str, layout: Callable[[RunStore, Path], RunStore], whole: RunStore, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    files, other = as_files(whole, tmp_path / "a"), layout(whole, tmp_path / "b")
    assert contents(other) == contents(files)
    wanted = said(files, whole, COMMANDS[name])
    assert wanted[0] in (0, 1), wanted
    assert said(other, whole, COMMANDS[name]) == wanted


def test_parts_that_are_packed_make_the_run_in_one(whole: RunStore, tmp_path: Path) -> None:
    parts = [played(tmp_path / "parts", shard=(number, 3)) for number in (1, 2, 3)]
    plain = merged_run(parts, tmp_path, "plain")
    for part, place in zip(parts, (None, None, f"file://{tmp_path / 'far'}"), strict=True):
        with part.held():
            pack(part, FEW)
            if place is not None:
                move(part, place)
    merged = merged_run([parts[1], parts[2], parts[0]], tmp_path, "merged")
    assert contents(merged) == contents(plain), "to the byte, times included"
    assert [name for name, _ in contents(merged)] == [name for name, _ in contents(whole)]
    assert len(segments(merged.folder)) == 3
    assert [one.path.exists() for one in segments(merged.folder)].count(False) == 1
    left = len(list((merged.folder / "episodes").iterdir()))
    assert 0 < left < len(contents(merged))
    shutil.rmtree(tmp_path / "parts")
    assert contents(merged) == contents(plain)


def test_parts_that_share_an_episode_are_refused(tmp_path: Path) -> None:
    parts = [played(tmp_path / "parts", shard=(number, 2)) for number in (1, 2)]
    with parts[0].held():
        pack(parts[0], FEW)
    twice = next(one for one in parts[0].attempts() if one.place)
    name = parts[1].folder / "episodes" / twice.file
    name.write_bytes(dict(contents(parts[0]))[twice.file])
    with pytest.raises(StoreError, match="is in two parts"):
        merged_run(parts, tmp_path / "none")


@pytest.mark.parametrize("place", ["", "file"])
def test_a_run_is_packed_as_it_is_played_and_resumed(
    place: str, whole: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "PACKING", FEW)
    url = f"file://{tmp_path / 'far'}" if place else None
    store = played(tmp_path / "logs", segments_to=url, run_call_limit=45)
    assert store.manifest["status"] == "limited"
    assert (before := segments(store.folder))
    first = dict(contents(store))
    code, _, told = invoked("run", "--resume", store.folder, "--run-call-limit", "1000")
    assert code == 0, told
    assert store.manifest["settings"]["segments_to"] == url
    assert segments(store.folder)[: len(before)] == before
    after = dict(contents(store))
    ended = {name: one for name, one in first.items() if b'"kind":"ended"' in one}
    assert ended.items() <= after.items(), "what was finished is as it was"
    keys = [one.key for one in store.results()]
    assert sorted(keys) == sorted(one.key for one in whole.results())
    assert len(list(store.attempts())) == len(after), "nothing twice"
    here = [one for one in segments(store.folder) if one.path.exists()]
    assert not place or not here
    left = {path.name for path in (store.folder / "episodes").iterdir()}
    assert len(left) < (2 if place else 5)


def test_a_finished_run_is_moved_when_it_is_resumed(whole: RunStore, tmp_path: Path) -> None:
    store = copied(whole, tmp_path)
    before = contents(store)
    code, _, told = invoked(
        "run", "--resume", store.folder, "--segments-to", f"file://{tmp_path / 'far'}"
    )
    assert code == 0, told
    assert not list((store.folder / "episodes").iterdir())
    assert len(list((tmp_path / "far" / "run").iterdir())) == 1
    assert contents(store) == before


def test_a_store_that_cannot_be_had_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    flags = ("--limit", "1", "--sandbox", "process", "--log-dir", str(tmp_path / "logs"))
    code, _, told = invoked("run", *flags, "--segments-to", "nowhere://far")
    assert code == 2
    assert "nowhere://far cannot be used" in told
    assert not (tmp_path / "logs").exists()


def test_where_a_packed_trace_lies_is_said(whole: RunStore, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = played(tmp_path / "other", agent="do-nothing")
    store = packed(whole, tmp_path / "b")
    code, text, _ = invoked("compare", store.folder, other.folder, "--json")
    assert code == 0
    places = re.findall(r'"trace": "([^"]+)"', text)
    assert any(f"{store.folder}/segments/000001-" in place for place in places)
    assert any(f"{other.folder}/episodes/" in place for place in places)


@pytest.mark.parametrize("number", [1, 2])
def test_runs_of_older_formats_are_packed_as_they_are(number: int, tmp_path: Path) -> None:
    old = Path(__file__).parent / "samples" / f"run_format_{number}"
    store = RunStore(shutil.copytree(old, tmp_path / "run"))
    before = state(store)
    with store.held():
        assert pack(store, FEW, all_left=True) == len(before[0])
    assert not list((store.folder / "episodes").iterdir())
    assert state(store) == before


def test_episodes_are_listed_without_the_store_that_has_their_segments(
    whole: RunStore, tmp_path: Path
) -> None:
    far = moved(whole, tmp_path)
    shutil.rmtree(tmp_path / "far")
    code, text, told = invoked("show", far.folder)
    assert code == 0, told
    assert "chemistry-2_mandatory_e2_a1" in text
    assert "findings about the harness are left out" in told


def test_a_merge_moves_what_is_here_and_leaves_what_is_elsewhere(
    whole: RunStore, tmp_path: Path
) -> None:
    parts = [played(tmp_path / "parts", shard=(number, 2)) for number in (1, 2)]
    with parts[0].held():
        pack(parts[0], FEW)
        move(parts[0], f"file://{tmp_path / 'first'}")
    (tmp_path / "taken").write_text("a file where a folder should be")
    words = ("merge", *(part.folder for part in parts), "--log-dir")
    code, _, told = invoked(*words, tmp_path / "a", "--segments-to", "file:///")
    assert (code, "names no folder" in told) == (2, True), told
    code, _, told = invoked(*words, tmp_path / "a", "--segments-to", f"file://{tmp_path / 'taken'}")
    (made,) = (tmp_path / "a").iterdir()
    assert (code, f"--resume {made}" in told) == (2, True), told
    assert contents(RunStore(made)) == sorted(contents(parts[0]) + contents(parts[1]))
    code, _, told = invoked(*words, tmp_path / "b", "--segments-to", f"file://{tmp_path / 'far'}")
    assert code == 0, told
    (made,) = (tmp_path / "b").iterdir()
    merged = RunStore(made)
    places = [one.moved().url for one in segments(made)]
    assert {url.split("/")[-3] for url in places} == {"first", "far"}
    assert not list((made / "episodes").iterdir())
    assert merged.manifest["settings"]["segments_to"] == f"file://{tmp_path / 'far'}"
    assert [name for name, _ in contents(merged)] == [name for name, _ in contents(whole)]


def test_packed_parts_keep_what_a_judge_said(data: str, tmp_path: Path) -> None:
    """A last line that a kill cut short takes none of the next part's with it."""
    asked = {"data": data, "benchmark": "relytoolbench", "agent": "all-tools", "limit": "4"}
    more: dict[str, object] = {"modes": (), "judge": "mechanical", "epochs": 1, **asked}
    one = played(tmp_path / "one", **more)
    parts = [played(tmp_path / "parts", shard=(number, 2), **more) for number in (1, 2)]
    for part in parts:
        with part.held():
            pack(part, Packing(begin=1, traces=1), all_left=True)
    with (parts[0].folder / "judgements.jsonl").open("ab") as file:
        file.write(b'{"episode": "cut')
    merged = merged_run(parts, tmp_path, "merged")
    judged = [judged_in(store) for store in (one, merged)]
    assert judged[0] == judged[1]
    assert all(said for said, _ in judged[0].values())
    assert merged.judgements().panel == "mechanical"


def judged_in(store: RunStore) -> dict[str, tuple[object, object]]:
    """By episode, what the judge said and the values that are made of it."""
    given = store.judgements()
    return {
        found.episode: (dict(given.of(found.episode)), found.score and found.score.values)
        for found in store.attempts()
    }
