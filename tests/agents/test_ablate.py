"""Whole ablations through the command: real processes, a real server, a real client."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.agents.items import small_item
from tests.launcher import SERVED, Launched
from tests.waiting import until
from toolhop_agents.ablate.folder import AblationFolder
from toolhop_agents.models.loopback import FaultPlan, LoopbackServer, Request, RequestFault
from toolhop_agents.runs.settings import RunSettings
from toolhop_agents.scripted.choose import choose
from toolhop_agents.scripted.responder import responder
from toolhop_env.fork import first_failure
from toolhop_env.levels import Template
from toolhop_env.messages import Reply
from toolhop_env.runs.files import held
from toolhop_env.runs.store import RunStore
from toolhop_env.trace import Trace
from toolhop_tools.benchmarks.toolhop.reader import to_rows
from toolhop_tools.model import DataSet

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

COUNT = 8
AGENT = "repairing:0.5"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> DataSet:
    """Eight small items, also as a file in the official format."""
    items = tuple(small_item(f"small-{number}") for number in range(1, COUNT + 1))
    path = tmp_path_factory.mktemp("data") / "items.json"
    dataset = DataSet("small", str(path), items)
    path.write_text(json.dumps(to_rows(dataset)), encoding="utf-8")
    return dataset


def environment() -> dict[str, str]:
    keep = {key: value for key, value in os.environ.items() if not key.startswith("TOOLHOP")}
    return {**keep, "OPENAI_API_KEY": "none"}


def told(*flags: str) -> subprocess.CompletedProcess[str]:
    done = toolhop("ablate", *flags, env=environment())
    assert "Traceback" not in done.stderr, done.stderr
    return done


def flags_for(data: DataSet, log_dir: Path, *flags: str) -> tuple[str, ...]:
    where = ("--data", data.origin, "--log-dir", str(log_dir), "--sandbox", "process")
    return (*where, "--turn-limit", "20", "--max-samples", "2", "--json", *flags)


def ablate(data: DataSet, log_dir: Path, *flags: str) -> dict[str, Any]:
    done = told(*flags_for(data, log_dir, *flags))
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def effects(answer: dict[str, Any], **wanted: str) -> list[dict[str, Any]]:
    rows = [row for row in answer["rows"] if all(row[key] == wanted[key] for key in wanted)]
    return [row["effect"] for row in rows]


@pytest.fixture(scope="module")
def inside(data: DataSet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An ablation of the repairing agent, in process."""
    return ablate(data, tmp_path_factory.mktemp("inside"), "--agent", AGENT, "--seed", "5")


def traces(answer: dict[str, Any], arm: str) -> dict[str, Trace]:
    store = RunStore.open(Path(answer["folder"]) / arm)
    return {trace.started.item: trace for trace in store.traces()}


def test_the_effect_that_the_agents_rule_implies_is_found(inside: dict[str, Any]) -> None:
    found = effects(inside, design="forked", population="failed", rule="strict")
    assert len(found) == 2
    for one in found:
        assert (one["first"], one["second"]) == (1.0, 0.0)
        assert (one["share_to_incorrect"], one["share_to_correct"]) == (1.0, 0.0)
        assert one["pairs"] >= 6
        assert one["p_value"] == 2 / 2 ** one["pairs"]
        assert one["high"] < 0
    rows = [row for row in inside["rows"] if row["population"] == "failed"]
    assert all(
        sum(one["pairs"] for one in row[group].values()) == row["effect"]["pairs"]
        for row in rows
        for group in ("by_code", "by_hop")
    )


def test_an_agent_that_ignores_feedback_shows_none(tmp_path: Path) -> None:
    flags = ("--agent", "faulty:0.5", "--prefix-level", "detailed", "--limit", "12", "--json")
    done = told(*flags, "--sandbox", "process", "--log-dir", str(tmp_path))
    answer = json.loads(done.stdout)
    found = effects(answer, rule="strict")
    assert [one["pairs"] for one in found][1] == 12
    for one in found:
        assert (one["difference"], one["to_incorrect"], one["to_correct"]) == (0, 0, 0)
        assert one["p_value"] == 1
        assert one["low"] < 0 < one["high"]
    assert "strict" not in {rule for flip in answer["flips"] for rule in flip["rules"]}


def test_forks_hold_the_prefix_and_are_linked_to_it(inside: dict[str, Any]) -> None:
    for prefix, level in (("detailed", "minimal"), ("minimal", "detailed")):
        parents, forks = traces(inside, prefix), traces(inside, f"{prefix}-then-{level}")
        failed = {item for item, trace in parents.items() if first_failure(trace)}
        assert failed == set(forks)
        for item, fork in forks.items():
            failure = first_failure(parents[item])
            assert failure is not None
            start = fork.started
            assert start.parent == f"{prefix}/{parents[item].started.episode}"
            assert start.prefix_turns == failure.turn
            assert {call.level.value for call in fork.calls} == {level}
            kept = [event.reply for event in fork.replies[: failure.turn]]
            assert kept == [event.reply for event in parents[item].replies[: failure.turn]]


def test_a_branch_is_the_episode_that_its_level_gives_from_the_start(
    inside: dict[str, Any],
) -> None:
    """The agent is deterministic, so that both ways have to come to the same."""
    for prefix, level in (("detailed", "minimal"), ("minimal", "detailed")):
        forks, whole = traces(inside, f"{prefix}-then-{level}"), traces(inside, level)
        for item, fork in forks.items():
            assert [(c.raw, c.feedback, c.error) for c in fork.calls] == [
                (c.raw, c.feedback, c.error) for c in whole[item].calls
            ]
            assert fork.final_text == whole[item].final_text


def test_a_served_agent_gives_the_same_figures_and_asks_as_often_as_is_said(
    data: DataSet, inside: dict[str, Any], tmp_path: Path
) -> None:
    with LoopbackServer(responder(data, choose(AGENT), 5)) as server:
        endpoint = ("--model", "openai/scripted", "--base-url", server.base_url, "--seed", "5")
        answer = ablate(data, tmp_path / "both", *endpoint)
        both = server.requests
        methods = toolhop("explain", answer["folder"], "--methods").stdout
        assert "tokens a reply: 2048;" in methods
        assert "max_tokens" not in methods
        ablate(data, tmp_path / "one", *endpoint, "--prefix-level", "detailed")
        one = server.requests - both
        apart = ablate(data, tmp_path / "apart", *endpoint, "--design", "independent")
        independent = server.requests - both - one
        assert not server.errors
    assert answer["rows"] == inside["rows"]
    assert one < independent < both  # shared turns are not asked for again
    assert effects(apart, population="failed") == effects(
        answer, population="failed", design="independent"
    )


def test_figures_are_computed_again_from_the_folder_alone(inside: dict[str, Any]) -> None:
    done = told("--show", inside["folder"], "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == inside
    latex = told("--show", inside["folder"], "--format", "latex")
    assert "\\begin{tabular}" in latex.stdout
    shown = told("--show", inside["folder"], "--full", "--discordant", "1")
    assert shown.stdout.startswith("Feedback detailed → minimal: strict goes from 100.0 to ")
    assert "feedback, forked, all episodes, each with a failed call" in shown.stdout
    for flip in inside["flips"]:
        for side in ("first_episode", "second_episode"):
            assert (Path(inside["folder"]) / flip[side]).is_file()


def test_arms_are_runs_like_any_other(inside: dict[str, Any]) -> None:
    assert len(inside["arms"]) == 4
    for arm in ("detailed", "detailed-then-minimal"):
        folder = str(Path(inside["folder"]) / arm)
        for command in (["score", folder], ["replay", folder, "--verify"]):
            done = toolhop(*command)
            assert done.returncode == 0, done.stderr
    done = toolhop("run", "--resume", str(Path(inside["folder"]) / "detailed-then-minimal"))
    assert done.returncode == 2
    assert "toolhop ablate --resume" in done.stderr


def test_template_levels_are_compared_and_stand_in_the_traces(
    data: DataSet, tmp_path: Path
) -> None:
    hint = tmp_path / "hint.txt"
    hint.write_text("[rejected]\n{problems}\n[failed]\n{message}\n", encoding="utf-8")
    flags = ("--agent", AGENT, "--seed", "5", "--level", f"own={hint}", "--prefix-level", "own")
    answer = ablate(data, tmp_path, *flags, "--levels", "minimal,own")
    (row,) = effects(answer, population="failed", rule="strict")
    assert (row["first"], row["second"], row["share_to_correct"]) == (0, 1, 1)
    hint.unlink()
    text = "[rejected]\n{problems}\n[failed]\n{message}"
    for trace in traces(answer, "own").values():
        assert getattr(trace.started.feedback, "text", None) == text
    assert json.loads(told("--show", answer["folder"], "--json").stdout) == answer


def test_a_run_takes_a_template_and_a_perturbation(data: DataSet, tmp_path: Path) -> None:
    hint = tmp_path / "hint.txt"
    hint.write_text("no: {code}", encoding="utf-8")
    how = ("--feedback", str(hint), "--tools", "order=shuffled+names=removed")
    where = ("--data", data.origin, "--log-dir", str(tmp_path / "logs"), "--sandbox", "process")
    flags = ("--agent", "faulty:1:not_json", "--limit", "2")
    done = toolhop("run", *where, *how, *flags)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "logs").iterdir()
    store = RunStore.open(folder)
    settings = RunSettings.model_validate(store.manifest["settings"])
    assert settings.feedback == Template("hint", "no: {code}")
    for trace in store.traces():
        assert trace.started.feedback == settings.feedback
        assert trace.started.perturbation == settings.perturbation == "names=removed+order=shuffled"
        assert {call.feedback for call in trace.calls} == {"no: not_json"}
        assert set(trace.started.tools) == {"tool_1", "tool_2", "tool_3"}


def test_epochs_are_pairs_of_their_own_and_clustered(data: DataSet, tmp_path: Path) -> None:
    one_way = ("--prefix-level", "detailed")
    answer = ablate(data, tmp_path, "--agent", AGENT, "--epochs", "2", "--limit", "5", *one_way)
    found = effects(answer, population="failed", design="forked", rule="strict")[0]
    assert found["pairs"] > found["items"]
    assert found["items"] <= 5
    keys = Counter((flip["item"], flip["epoch"]) for flip in answer["flips"])
    assert {epoch for _, epoch in keys} == {1, 2}


@pytest.mark.parametrize(
    "factor",
    [
        ("mode=mandatory,free,direct",),
        ("tools", "--levels",
         "as-is,names=scrambled+descriptions=removed,distractors=2:random+order=shuffled"),
    ],
)  # fmt: skip
def test_other_factors_are_independent_runs_paired_by_item(
    factor: tuple[str, ...], tmp_path: Path
) -> None:
    done = told(
        "--factor",
        *factor,
        "--agent",
        "oracle",
        "--limit",
        "4",
        "--json",
        "--sandbox",
        "process",
        "--log-dir",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [row["prefix"] for row in answer["rows"]] == [None] * 4
    assert {row["population"] for row in answer["rows"]} == {"all"}
    for one in effects(answer):
        assert (one["pairs"], one["first"], one["difference"]) == (4, 1.0, 0.0)


def test_what_is_shown_is_in_the_items_and_the_traces(tmp_path: Path) -> None:
    flags = ("--factor", "tools", "--levels", "as-is,names=scrambled+distractors=2", "--limit", "3")
    done = told(*flags, "--json", "--sandbox", "process", "--log-dir", str(tmp_path))
    answer = json.loads(done.stdout)
    plain, changed = answer["arms"]
    before, after = traces(answer, plain), traces(answer, changed)
    items = RunStore.open(Path(answer["folder"]) / changed).items().by_id
    for name, trace in after.items():
        assert trace.started.perturbation == "names=scrambled+distractors=2"
        assert trace.started.tools == tuple(items[name].tools)
        assert len(trace.started.tools) == len(before[name].started.tools) + 2
        assert not set(trace.started.tools) & set(before[name].started.tools)
        assert [c.hop for c in trace.calls] == [c.hop for c in before[name].calls]
        assert [c.outcome for c in trace.calls] == [c.outcome for c in before[name].calls]


class Slow:
    """A served agent that takes its time, so that a kill meets it."""

    def __init__(self, data: DataSet) -> None:
        self._answer = responder(data, choose(AGENT), 5)
        self.seen: Counter[str] = Counter()

    def __call__(self, request: Request) -> Reply:
        self.seen[json.dumps(request.body["messages"], sort_keys=True)] += 1
        time.sleep(0.01)
        return self._answer(request)


def test_an_ablation_that_is_killed_is_resumed_and_loses_nothing(
    data: DataSet, inside: dict[str, Any], tmp_path: Path
) -> None:
    agent = Slow(data)
    with LoopbackServer(agent) as server:
        endpoint = ("--model", "openai/scripted", "--base-url", server.base_url, "--seed", "5")
        flags = flags_for(data, tmp_path, *endpoint)
        session: tuple[str, ...] = flags
        for more in (9, 40):  # in a base arm, and in the forks of it
            _killed(server, session, more)
            (folder,) = tmp_path.iterdir()
            session = ("--resume", str(folder), "--json")
        done = told(*session)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["status"] == "success"
    assert answer["rows"] == inside["rows"]
    opened = AblationFolder.open(Path(answer["folder"])).episodes()
    for arm, episodes in opened.items():
        scored = Counter(one.key for one in episodes if not one.errored)
        assert set(scored.values()) == {1}, arm


def test_data_that_was_changed_between_sessions_is_told(data: DataSet, tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_bytes(Path(data.origin).read_bytes())
    flags = ("--data", str(path), "--sandbox", "process", "--log-dir", str(tmp_path / "logs"))
    done = told(*flags, "--agent", AGENT, "--run-call-limit", "3")
    assert done.returncode == 1
    (folder,) = (tmp_path / "logs").iterdir()
    assert f"resume with: toolhop ablate --resume {folder}" in done.stderr
    assert "0 of " in done.stderr
    assert "episodes of detailed are finished" in done.stderr
    path.write_text(json.dumps(to_rows(data)[:3]), encoding="utf-8")
    done = told("--resume", str(folder), "--run-call-limit", "300")
    assert done.returncode == 2
    assert "was changed since" in done.stderr


def _killed(server: LoopbackServer, flags: tuple[str, ...], more: int) -> None:
    """Run the command and kill it once it has asked `more` times."""
    wanted = server.requests + more
    child = Launched(
        *("ablate", *flags), env=environment(), imports=SERVED,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: server.requests >= wanted or child.poll() is not None, "requests")
    child.kill()
    child.wait()


def test_errored_episodes_are_told_with_their_cause_and_how_to_go_on(
    data: DataSet, tmp_path: Path
) -> None:
    faults = FaultPlan(rate=1.0, kinds=(RequestFault.SERVER_ERROR,), consecutive_max=10**6)
    with LoopbackServer(responder(data, choose("oracle"), 0), faults=faults) as server:
        served = ("--model", "openai/x", "--base-url", server.base_url, "--max-retries", "0")
        done = told(*flags_for(data, tmp_path, *served, "--retry-on-error", "0"))
    assert done.returncode == 1
    assert "errored: the model could not be asked" in done.stderr
    assert "fix: check the network" in done.stderr
    assert "toolhop ablate --resume " in done.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--levels", "detailed"), "compares two levels or more"),
        (("--levels", "detailed,loud"), "there is no feedback level 'loud'"),
        (("--levels", "detailed,detailed"), "not all different"),
        (("--levels", ","), "has an empty level; name each"),
        (("--level", "/nowhere/x.txt"), "no feedback level"),
        (("--level", "minimal"), "built in"),
        (("--prefix-level", "loud"), "'loud' is not a level of this ablation"),
        (("--prefix-level", "minimal", "--design", "independent"), "leave it out"),
        (("--mode", "direct"), "direct mode makes no calls"),
        (("--time-limit", "5"), "a time limit is not the same for a branch"),
        (("--confidence", "1.5"), "confidence"),
        (("--factor", "mode", "--levels", "mandatory,idle"), "'idle' is not a mode"),
        (("--factor", "mode", "--mode", "free"), "leave --mode out"),
        (("--feedback", "minimal"), "leave --feedback out"),
        (
            ("--factor", "tools", "--levels", "as-is,names=removed", "--tools", "as-is"),
            "leave --tools out",
        ),
        (("--factor", "mode", "--design", "forked"), "differ from the first request on"),
        (("--factor", "tools"), "--factor tools needs --levels"),
        (("--factor", "mode=free,direct", "--levels", "free"), "mode has its levels twice"),
        (("--factor", "tools", "--levels", "as-is,names=loud"), "is not a tool perturbation"),
        (("--factor", "tools", "--levels", "as-is,distractors=4000"), "4000 distractors"),
        (("--factor", "tools", "--levels", "as-is,names=removed+names=as-is"), "names= twice"),
        (("--factor", "tools", "--levels", "as-is,order=as-is"), "are the same"),
        (("--agent", "oracle", "--model", "openai/x"), "give one of them"),
        (("--epochs", "0"), "epochs"),
        (("--show", "/nowhere"), "there is no folder"),
        (("--resume", "/nowhere"), "there is no folder"),
        (("--show", "/nowhere", "--seed", "3"), "--seed cannot be given with --show"),
    ],
)
def test_bad_requests_are_told_and_play_nothing(
    flags: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    where = () if "/nowhere" in flags else ("--log-dir", str(tmp_path / "logs"))
    done = told(*flags, *where, "--sandbox", "process") if where else told(*flags)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": 3}', '{"format": 1, "factor": "mood"}']
)
def test_a_folder_that_cannot_be_read_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "ablation.json").write_text(text, encoding="utf-8")
    done = told("--show", str(tmp_path))
    assert done.returncode == 2
    assert "ablation.json" in done.stderr


def test_a_folder_of_format_1_is_read_by_the_names_of_today(tmp_path: Path) -> None:
    base = {"dialect": "text", "presentation": "names=removed", "modes": ["free"]}
    text = json.dumps({"format": 1, "levels": ["minimal", "detailed"], "base": base})
    (tmp_path / "ablation.json").write_text(text, encoding="utf-8")
    found = AblationFolder.open(tmp_path).ablation
    assert found.levels == ("minimal", "detailed")
    assert (found.base.call_format, found.base.perturbation) == ("text", "names=removed")
    assert json.loads(told("--show", str(tmp_path), "--json").stdout)["status"] == "started"


def run_command(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    done = toolhop(*map(str, arguments), env={**environment(), **variables})
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_a_whole_ablation_is_scored_exported_and_diagnosed_arm_by_arm(
    inside: dict[str, Any], tmp_path: Path
) -> None:
    folder = Path(inside["folder"])
    done = run_command("score", folder, "--json")
    assert done.returncode == 0, done.stderr
    scored = {one["arm"]: one for one in json.loads(done.stdout)}
    assert {arm: one["episodes"] for arm, one in scored.items()} == {
        arm: counts["scored"] for arm, counts in inside["arms"].items()
    }
    (row,) = effects(inside, population="failed", rule="strict", design="forked", prefix="detailed")
    assert scored["detailed-then-minimal"]["strict"]["value"] == row["second"]
    assert {one["agent"] for one in scored.values()} == {AGENT}
    table = run_command("score", folder).stdout
    assert all(f"{arm} " in table for arm in inside["arms"])
    episodes = run_command("score", folder, "--episodes").stdout.splitlines()
    assert len(episodes) == sum(one["episodes"] for one in scored.values())
    both = json.loads(run_command("score", folder, folder / "minimal", "--json").stdout)
    assert [one.get("arm") for one in both] == [*(f"{folder.name}/{a}" for a in scored), None]
    assert run_command("diagnose", folder).returncode == 0
    done = run_command(
        "export", folder, "--to", "chat", "--include-wrong", "--out", tmp_path / "chats"
    )
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "chats").read_text(encoding="utf-8").splitlines()) == len(episodes)


def test_forks_are_compared_with_the_run_they_go_on_from(inside: dict[str, Any]) -> None:
    folder = Path(inside["folder"])
    forks, parent = folder / "detailed-then-minimal", folder / "detailed"
    for sides in ((parent, forks), (forks, parent)):
        done = run_command("compare", *sides)
        assert done.returncode == 0, done.stderr
        assert "resumes from" in done.stdout
    done = run_command("compare", parent, forks, "--json")
    (compared,) = json.loads(done.stdout)["comparisons"]
    strict = compared["groups"][0]["measures"][0]
    (row,) = effects(inside, population="failed", rule="strict", design="forked", prefix="detailed")
    assert strict["measure"] == "strict"
    assert strict["difference"] == row["difference"]
    assert strict["p_value"] == row["p_value"]
    # Forks of another run are a factor of their own.
    done = run_command(
        "compare", folder / "minimal-then-detailed", folder / "detailed-then-minimal"
    )
    assert done.returncode == 2
    assert "forked_from" in done.stderr


def test_one_process_plays_an_ablation_at_a_time(inside: dict[str, Any]) -> None:
    with held(Path(inside["folder"])):
        done = told("--resume", inside["folder"])
    assert done.returncode == 2
    assert "being played by another process" in done.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--seed", "6"), "--seed: it has 5, given is 6"),
        (("--mode", "free"), "--mode: it has mandatory, given is free"),
        (("--levels", "minimal,detailed"), "another --levels: it has detailed,minimal"),
        (("--prefix-level", "minimal"), "another --prefix-level: it has none, given is minimal"),
        (("--factor", "tools"), "another --factor"),
    ],
)
def test_resuming_with_other_flags_is_refused(
    flags: tuple[str, ...], said: str, inside: dict[str, Any]
) -> None:
    done = told("--resume", inside["folder"], *flags)
    assert done.returncode == 2
    assert said in done.stderr


def test_what_the_environment_says_counts_on_resuming(inside: dict[str, Any]) -> None:
    def resumed(**variables: str) -> subprocess.CompletedProcess[str]:
        return run_command("ablate", "--resume", inside["folder"], "--json", **variables)

    other = resumed(TOOLHOP_ABLATE_SEED="7")
    assert other.returncode == 2
    assert "--seed: it has 5, given is 7" in other.stderr
    same = resumed(TOOLHOP_ABLATE_SEED="5", TOOLHOP_ABLATE_MAX_SAMPLES="2")
    assert same.returncode == 0, same.stderr
    assert json.loads(same.stdout)["rows"] == inside["rows"]


def test_a_wrong_folder_is_told_with_the_right_one(inside: dict[str, Any]) -> None:
    folder = inside["folder"]
    done = told("--show", f"{folder}/detailed")
    assert done.returncode == 2
    assert f"is an arm; give its ablation's folder, {folder}" in done.stderr
    for command in ("show", "report", "replay"):
        flags = ["--verify"] if command == "replay" else []
        done = run_command(command, f"{folder}/nowhere", *flags)
        assert done.returncode == 2
        assert "there is no folder" in done.stderr
    done = run_command("show", folder)
    assert done.returncode == 2
    assert "give one of them (detailed, detailed-then-minimal, minimal" in done.stderr
