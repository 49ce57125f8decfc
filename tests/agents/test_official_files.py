"""Official files of answers: our runs in them and back, and those that others made."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.agents.command import toolhop
from tests.conftest import SHARED
from tests.env.test_relytoolbench import conversation
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.table import print_tables
from toolhop_env.attempt import counting
from toolhop_env.runs.store import RunStore
from toolhop_env.summary import summarize
from toolhop_tools.errors import DataError

GOLDEN = Path(__file__).parents[1] / "golden"
CONDUCT = ("wall_s", "endings", "agent", "turns", "malformed_call")
"""What an official file does not hold, or what is another agent's."""
ORIGINS = ("made_up", "reply_")
"""A file does not say where a reply came from: here from the file."""


@pytest.fixture
def relytoolbench(tmp_path: Path) -> str:
    folder = tmp_path / "data"
    folder.mkdir()
    sets = json.loads((GOLDEN / "relytoolbench_own.json").read_text())["sets"]
    for name, rows in sets.items():
        (folder / f"{name}.json").write_text(json.dumps(rows))
    return f"relytoolbench:{folder}"


@pytest.fixture
def toolbehonest(tmp_path: Path) -> str:
    rows = json.loads((GOLDEN / "toolbehonest_own.json").read_text())["rows"]
    (tmp_path / "test_en.json").write_text(json.dumps(rows))
    return f"toolbehonest:{tmp_path / 'test_en.json'}"


def played(data: str, folder: Path, agent: str, *more: str) -> tuple[str, list[dict[str, Any]]]:
    done = toolhop("run", "--data", data, "--agent", agent, "--log-dir", str(folder), "--json",
                   *more)  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return answer["run"], answer["summaries"]


def scores(summary: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in summary.items()
        if name not in CONDUCT and not name.startswith(ORIGINS)
    }


def written(run: str, to: Path) -> dict[str, str]:
    done = toolhop("export", run, "--to", "predictions", "--out", str(to))
    assert done.returncode == 0, done.stderr
    return {path: Path(path).read_text() for path in done.stdout.split()}


@pytest.mark.heavy
@pytest.mark.parametrize("agent", ["gold", "empty", "all-tools", "always-ask"])
def test_a_run_of_relytoolbench_comes_back_with_the_same_scores(
    relytoolbench: str, agent: str, tmp_path: Path
) -> None:
    run, (summary,) = played(relytoolbench, tmp_path / "logs", agent)
    files = written(run, tmp_path / "out")
    assert len(files) == 3
    again, (scored,) = played(relytoolbench, tmp_path / "again", f"predictions:{tmp_path / 'out'}")
    assert scores(scored) == scores(summary)
    assert toolhop("replay", again, "--verify").returncode == 0
    assert [*written(again, tmp_path / "back").values()] == [*files.values()]


@pytest.mark.heavy
@pytest.mark.parametrize("agent", ["gold", "empty", "always-unsolvable"])
def test_a_run_of_toolbehonest_comes_back_with_the_same_scores(
    toolbehonest: str, agent: str, tmp_path: Path
) -> None:
    more = ("--mode", "level-1,level-2,level-3", "--judge", "overlap")
    run, summaries = played(toolbehonest, tmp_path / "logs", agent, *more)
    (text,) = written(run, tmp_path / "results.json").values()
    assert len(json.loads(text)["single_step"]["level_1"]) == 1
    again, scored = played(
        toolbehonest, tmp_path / "again", f"predictions:{tmp_path / 'results.json'}", *more
    )
    assert [*map(scores, scored)] == [*map(scores, summaries)]
    assert [*written(again, tmp_path / "back.json").values()] == [text]


@pytest.mark.data
@pytest.mark.heavy
def test_the_released_results_of_toolbehonest_score_as_by_the_released_code(
    tmp_path: Path,
) -> None:
    case = json.loads((SHARED / "golden" / "toolbh.json").read_text())
    for name in ("items", "results"):
        (tmp_path / f"{name}.json").write_text(json.dumps(case[name]))
    _, (one, two, three) = played(
        f"toolbehonest:{tmp_path / 'items.json'}", tmp_path / "logs",
        f"predictions:{tmp_path / 'results.json'}", "--mode", "level-1,level-2,level-3",
    )  # fmt: skip
    wanted = case["official"]["hard"]["group_results"]
    sizes = {"MNT": 24, "PT": 16, "LFT": 16}

    def total(name: str) -> float:
        return float(sum(wanted[group][name] * size for group, size in sizes.items()) / 56)

    assert one["score"]["value"] == pytest.approx(total("Level 1 Exact Match"))
    assert two["progress"]["value"] == pytest.approx(total("Level 2 Progress Rate"))
    assert three["progress"]["value"] == pytest.approx(total("Level 3 Progress Rate"))


@pytest.mark.data
def test_the_released_trajectories_of_relytoolbench_are_read_whole(tmp_path: Path) -> None:
    case = json.loads((SHARED / "golden" / "relytoolbench.json").read_text())
    path = tmp_path / "G1_instruction.json"
    path.write_text(json.dumps(case["trajectories"]))
    read = binding_of("relytoolbench").predictions
    assert read is not None
    found = read.read(path)
    for name, one in case["trajectories"].items():
        turns = found[f"G1_instruction-{name}", ""]
        calls = [
            (call.name, call.arguments, result)
            for turn in turns
            for call, result in zip(turn.reply.calls, turn.results, strict=True)
        ]
        asked = conversation(one)
        counted = [call for call in calls if call[0] != "Finish"]
        assert counted == [(c.name, c.arguments, c.response) for c in asked.calls]
        assert (bool(calls) and calls[-1][0] == "Finish") == asked.finished


def test_a_twin_that_was_not_played_is_not_made_up(toolbehonest: str, tmp_path: Path) -> None:
    run, _ = played(toolbehonest, tmp_path / "logs", "gold", "--sample-id", "*-unsolvable")
    (text,) = written(run, tmp_path / "results.json").values()
    levels = [level for one in json.loads(text).values() for level in one["level_1"]]
    assert {tuple(one) for one in levels} == {("unsolvable",)}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--mode", "level-3-fixed"), "no place for level-3-fixed"),
        (("--epochs", "2"), "several epochs"),
    ],
)
def test_what_the_official_file_cannot_hold_is_refused(
    toolbehonest: str, flags: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    run, _ = played(toolbehonest, tmp_path / "logs", "gold", *flags)
    done = toolhop("export", run, "--to", "predictions", "--out", str(tmp_path / "f.json"))
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "f.json").exists()


def test_a_gap_in_what_goes_by_place_is_refused(tmp_path: Path) -> None:
    row = json.loads((GOLDEN / "toolbehonest_own.json").read_text())["rows"][0]
    rows = [{**row, "task": f"{row['task']} {number}"} for number in range(2)]
    (tmp_path / "d.json").write_text(json.dumps(rows))
    second = f"{row['subtask']}-1-*"
    run, _ = played(f"toolbehonest:{tmp_path / 'd.json'}", tmp_path, "gold", "--sample-id", second)
    done = toolhop("export", run, "--to", "predictions", "--out", str(tmp_path / "f.json"))
    assert (done.returncode, "goes by place" in done.stderr) == (2, True), done.stderr


WRONG: dict[str, tuple[str, Any, str]] = {
    "a list": ("toolbehonest", [], "an object by subtask"),
    "a subtask": ("toolbehonest", {"cooking": {"level_1": []}}, "cooking"),
    "a level": ("toolbehonest", {"os": {"level_4": []}}, "level_4"),
    "no list": ("toolbehonest", {"os": {"level_1": {}}}, "os.level_1"),
    "a text": ("toolbehonest", {"os": {"level_1": [{"solvable": 1}]}}, "level_1[0].solvable"),
    "a twin": ("toolbehonest", {"os": {"level_1": [{"maybe": "x"}]}}, "level_1[0].maybe"),
    "rows": ("relytoolbench", [{"query": "q"}], "an object by query id"),
    "no answer": ("relytoolbench", {"7": {"query": "q"}}, "query 7"),
    "a call": (
        "relytoolbench",
        {"7": {"answer": {"answer_details": [{"role": "tool", "message": "x", "next": []}]}}},
        "name, arguments and response",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_of_another_form_is_refused_by_place(name: str, tmp_path: Path) -> None:
    benchmark, content, told = WRONG[name]
    path = tmp_path / "G1_instruction.json"
    path.write_text(json.dumps(content))
    read = binding_of(benchmark).predictions
    assert read is not None
    with pytest.raises(DataError) as fault:
        read.read(path)
    assert told in str(fault.value)


def test_a_result_of_a_file_holds_whatever_the_tool_would_give(
    relytoolbench: str, tmp_path: Path
) -> None:
    run, _ = played(relytoolbench, tmp_path / "logs", "all-tools")
    path = next(path for path in written(run, tmp_path / "out") if path.endswith("on.json"))
    whole = json.loads(Path(path).read_text())
    changed = 0

    def change(nodes: list[Any], to: Callable[[int], str]) -> None:
        nonlocal changed
        for node in nodes:
            said = node["message"]
            if node["role"] == "tool" and said["name"] != "Finish":
                changed += 1
                said["response"] = to(changed)
            change(node["next"], to)

    for one in whole.values():
        change(one["answer"]["answer_details"], lambda n: f"no JSON {n}")
    Path(path).write_text(json.dumps(whole))
    assert changed > 1
    again, _ = played(f"{relytoolbench}/G1_instruction.json", tmp_path, f"predictions:{path}")
    back = json.loads(next(iter(written(again, tmp_path / "back").values())))
    assert back == whole


def test_what_a_file_has_of_a_rejected_call_is_kept(relytoolbench: str, tmp_path: Path) -> None:
    run, _ = played(relytoolbench, tmp_path / "logs", "all-tools")
    path = next(path for path in written(run, tmp_path / "out") if path.endswith("on.json"))
    whole, ways = json.loads(Path(path).read_text()), ["not JSON", '{"no_such": 1}', "[1]", "{}"]

    def spoil(nodes: list[Any]) -> None:
        for node in nodes:
            said = node["message"]
            if node["role"] == "tool" and said["name"] != "Finish":
                said["arguments"] = ways[0]
                said["response"] = json.dumps({"error": "", "response": f"of {ways[0]}"})
                ways.append(ways.pop(0))
            spoil(node["next"])

    for one in whole.values():
        spoil(one["answer"]["answer_details"])
    Path(path).write_text(json.dumps(whole))
    again, (scored, *_) = played(
        f"{relytoolbench}/G1_instruction.json", tmp_path / "again", f"predictions:{path}"
    )
    assert scored["failed_calls"]["value"] > 0
    back = json.loads(next(iter(written(again, tmp_path / "back").values())))
    assert back == whole
    assert toolhop("replay", again, "--verify").returncode == 0


def test_episodes_without_an_official_figure_are_told(tmp_path: Path) -> None:
    own = json.loads((GOLDEN / "nestools_own.json").read_text())
    data = tmp_path / "test_data.jsonl"
    data.write_text("\n".join(map(json.dumps, own["rows"])))
    (tmp_path / "test_api_ids.jsonl").write_text("\n".join(map(json.dumps, own["ids"])))
    run, _ = played(str(data), tmp_path, "gold", "--sample-id", "1")
    written(run, tmp_path / "one.jsonl")
    more = ("run", "--data", str(data), "--agent", f"predictions:{tmp_path / 'one.jsonl'}",
            "--log-dir", str(tmp_path / "logs"))  # fmt: skip
    done = toolhop(*more)
    assert "Official figures leave out 1 of 2 episodes" in " ".join(done.stdout.split())
    assert "1 of 2 episodes have no reply" in " ".join(done.stdout.split())


def test_modes_that_a_file_does_not_answer_are_not_scored(
    toolbehonest: str, tmp_path: Path
) -> None:
    run, _ = played(toolbehonest, tmp_path, "gold", "--mode", "level-1")
    written(run, tmp_path / "one.json")
    agent = ("--data", toolbehonest, "--agent", f"predictions:{tmp_path / 'one.json'}")
    done = toolhop("run", *agent, "--mode", "level-1,level-2", "--log-dir", str(tmp_path))
    assert done.returncode == 2
    assert "no answer in the mode level-2" in " ".join(done.stderr.split())


def test_half_a_surrogate_pair_in_arguments_stops_nothing(
    relytoolbench: str, tmp_path: Path
) -> None:
    run, _ = played(relytoolbench, tmp_path / "logs", "all-tools")
    for path in written(run, tmp_path / "out"):
        text = Path(path).read_text().replace("anything", "\\\\ud83d")
        assert "ud83d" in text
        Path(path).write_text(text)
    again, _ = played(relytoolbench, tmp_path, f"predictions:{tmp_path / 'out'}")
    chats = tmp_path / "chats.jsonl"
    done = toolhop("export", again, "--to", "chat", "--include-wrong", "--out", str(chats))
    assert done.returncode == 0, done.stderr
    assert "\\ud83d" in chats.read_text()
    assert all(json.loads(line) for line in chats.read_text().splitlines())


def test_tables_cut_no_figure_in_a_narrow_terminal(relytoolbench: str, tmp_path: Path) -> None:
    run, _ = played(relytoolbench, tmp_path / "logs", "all-tools")
    store = RunStore.open(Path(run))
    found = summarize(counting(store.attempts()))
    text = StringIO()
    print_tables(Console(file=text, width=80), found)
    assert "all sets" in text.getvalue()
    assert "…" not in text.getvalue()
    assert max(map(len, text.getvalue().splitlines())) <= 80
