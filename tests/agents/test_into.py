"""Runs and ablations that make scenarios of their items first."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.agents.command import toolhop
from tests.launcher import SERVED, Launched
from tests.waiting import Gate
from toolhop_agents.benchmarks import binding_of
from toolhop_agents.models.loopback import LoopbackServer
from toolhop_agents.scripted.responder import responder
from toolhop_env.runs.store import RunStore
from toolhop_tools.load import load
from toolhop_tools.scenarios.label import Scenario, label_of

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("inline_module")]

ITEMS = ("music-1", "zoology-2")
CHOSEN = tuple(part for name in ITEMS for part in ("--sample-id", name))
FEW = "missing-tool,missing-parameter"
INTO = f"{FEW},missing-repeated"
"""`missing-repeated` takes the longest to make."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("certificates") / "c.jsonl")
    done = toolhop(
        "certify",
        "--data",
        "builtin",
        "--sandbox",
        "process",
        *CHOSEN,
        "--out",
        path,
        "--exit-zero",
    )
    assert done.returncode == 0, done.stderr
    return path


def flags(certificates: str, folder: Path, *more: str) -> tuple[str, ...]:
    own = (*CHOSEN, "--certificates", certificates, "--sandbox", "process", "--json")
    return (*own, "--log-dir", str(folder), *more)


def answer(*arguments: str) -> Any:
    done = toolhop(*arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def timeless(said: Any) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in one.items() if name != "wall_s"}
        for one in said["summaries"]
    ]


@pytest.fixture(scope="module")
def made(certificates: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The items as `toolhop perturb` writes them."""
    out = tmp_path_factory.mktemp("made") / "made.jsonl"
    own = (*CHOSEN, "--certificates", certificates, "--sandbox", "process")
    answer("perturb", "--data", "builtin", *own, "--into", INTO, "--out", str(out), "--json")
    return out


def test_a_run_plays_what_perturb_writes(certificates: str, made: Path, tmp_path: Path) -> None:
    agent = ("--agent", "asks-when-missing")
    said = answer("run", *flags(certificates, tmp_path, "--into", INTO, *agent))
    store = RunStore.open(Path(said["run"]))
    of_file = load(made).items
    assert [one.digest for one in store.items().items] == [one.digest for one in of_file]
    facts: Any = store.manifest
    assert facts["settings"]["into"] == ["missing-tool", "missing-parameter", "missing-repeated"]
    counts = facts["data"]["scenarios"]
    assert counts["written"] == len(of_file)
    assert sum(counts["scenarios"]["missing-repeated"]["refused"].values()) == len(ITEMS)
    from_file = answer(
        "run", "--data", str(made), *agent, "--sandbox", "process", "--json", "--log-dir",
        str(tmp_path / "file"),
    )  # fmt: skip
    assert timeless(said) == timeless(from_file)
    verified = answer("replay", said["run"], "--verify", "--json", "--sandbox", "process")
    assert verified["holds"]
    compared = answer("compare", said["run"], from_file["run"], "--json")
    (one,) = compared["comparisons"]
    assert one["pairs"] == len(of_file)
    assert one["groups"][0]["measures"][0]["difference"] == 0


def test_a_killed_run_of_made_items_resumes_to_the_same_table(
    certificates: str, made: Path, tmp_path: Path
) -> None:
    play = binding_of("scenarios").agents["asks-when-missing"]
    answering = responder(load(made), play, 0)

    gate, cut = Gate(answering, 6), tmp_path / "cut"

    def given(server: LoopbackServer, log_dir: Path) -> tuple[str, ...]:
        model = ("--model", "openai/loop", "--base-url", server.base_url, "--max-samples", "1")
        return flags(certificates, log_dir, "--into", FEW, *model)

    with LoopbackServer(answering) as server:
        whole = answer("run", *given(server, tmp_path / "whole"))
    with LoopbackServer(gate) as server:
        env = {**os.environ, "OPENAI_API_KEY": "none"}
        process = Launched("run", *given(server, cut), env=env, imports=SERVED)
        gate.wait()
        process.kill()
        assert process.wait() == -signal.SIGKILL
        process.communicate()
        gate.open()
        (folder,) = cut.glob("*")
        resumed = answer("run", "--resume", str(folder), "--json")
    assert timeless(resumed) == timeless(whole)
    refused = toolhop("run", "--resume", str(folder), "--into", "reserve")
    assert refused.returncode == 2
    assert "--into" in refused.stderr


def test_an_ablation_pairs_each_item_with_its_scenario_by_family(
    certificates: str, tmp_path: Path
) -> None:
    own = ("--into", FEW, "--agent", "goes-on")
    said = answer("ablate", *flags(certificates, tmp_path, *own))
    folder = Path(said["folder"])
    for level in ("plain", "missing-tool", "missing-parameter"):
        labels = [label_of(one.gold) for one in RunStore.open(folder / level).items().items]
        assert Counter(one.scenario for one in labels) == {Scenario(level): len(ITEMS)}
    rows = [row for row in said["rows"] if row["rule"] == "decided"]
    assert [(row["first"], row["second"]) for row in rows] == [
        ("plain", "missing-tool"),
        ("plain", "missing-parameter"),
    ]
    for row in rows:
        assert (row["effect"]["pairs"], row["effect"]["difference"]) == (len(ITEMS), -1)
    assert {one["item"] for one in said["flips"]} == {*ITEMS}
    shown = answer("ablate", "--show", str(folder), "--json")
    assert shown["rows"] == said["rows"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "--into", "missing-tol"), "did you mean missing-tool?"),
        (("run", "--into", "plain", "--tools", "order=shuffled"), "--into with --tools"),
        (("run", "--into", "plain", "--certificates", "none.jsonl"), "toolhop certify"),
        (("run", "--single-shot"), "--single-shot"),
        (("ablate", "--into", "plain,reserve", "--factor", "mode"), "--factor scenario"),
        (("ablate", "--factor", "scenario"), "--levels"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: tuple[str, ...], says: str) -> None:
    done = toolhop(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_dry_run_says_what_is_made(certificates: str, tmp_path: Path) -> None:
    done = toolhop("run", "--dry-run", "--into", INTO, *CHOSEN, "--certificates", certificates)
    assert done.returncode == 0, done.stderr
    assert "scenarios are made of 2 items" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_in_a_single_shot_the_first_action_ends_the_episode(made: Path, tmp_path: Path) -> None:
    said = answer(
        "run", "--data", str(made), "--agent", "asks-when-missing", "--single-shot", "--sandbox",
        "process", "--json", "--log-dir", str(tmp_path),
    )  # fmt: skip
    store = RunStore.open(Path(said["run"]))
    assert store.manifest["settings"]["single_shot"] is True
    for trace in store.traces():
        acts = [call for call in trace.calls if call.action is not None]
        assert trace.started.single_shot
        assert "Each of the three ends the task" in str(trace.started.messages)
        assert trace.ended is not None
        assert acts == ([] if trace.ended.ending == "answered" else [trace.calls[-1]])
    verified = answer("replay", said["run"], "--verify", "--json", "--sandbox", "process")
    assert verified["holds"]


def test_a_server_has_the_scenarios_and_certified_calls_that_a_run_has(
    certificates: str, tmp_path: Path
) -> None:
    for more in (("--into", FEW), ()):
        agent = "asks-when-missing" if more else "oracle"
        command = ("serve", "--agent", agent, "--sandbox", "process", *more)
        with Launched(*command, "--certificates", certificates, imports=SERVED) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            own = flags(certificates, tmp_path, *more)
            served = answer("run", *own, "--model", "openai/loop", "--base-url", url)
            scripted = answer("run", *own, "--agent", agent)
            server.terminate()
        assert served["summaries"][0]["errored"] == 0
        for one, other in zip(served["summaries"], scripted["summaries"], strict=True):
            assert one["endings"] == other["endings"]
            assert one["calls"] == other["calls"]
