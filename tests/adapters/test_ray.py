"""Runs on a cluster of nodes on this machine: the scores of one machine, whatever befalls nodes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.adapters.nodes import Nodes, SlowModel, cluster, processes, until
from tests.adapters.played import AGENT
from toolhop_agents.cluster.connect import ClusterFault
from toolhop_agents.models.loopback import LoopbackServer, RequestFault
from toolhop_agents.runs.execute import Run, execute
from toolhop_agents.runs.settings import RunSettings
from toolhop_env.attempt import Attempt
from toolhop_env.runs.store import RunStore
from toolhop_env.score import Score
from toolhop_tools.load import load

pytest.importorskip("ray", reason="what is tried here")
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
COMMAND = str(Path(sys.executable).parent / "toolhop")
ROOT = Path(__file__).parents[2]
TIMES = {"wall_s", "tool_s"}


@pytest.fixture(scope="module")
def shared() -> Iterator[Nodes]:
    with cluster() as nodes:
        yield nodes


@pytest.fixture
def three(shared: Nodes) -> Nodes:
    shared.have(3)
    return shared


def play(folder: Path, on_result: Any = lambda _: None, **settings: object) -> Run:
    wanted = {"agent": AGENT, "data": "builtin", "sandbox": "process", "log_dir": folder}
    return anyio.run(
        partial(execute, on_result=on_result), RunSettings.model_validate(wanted | settings)
    )


def on_nodes(nodes: Nodes) -> dict[str, object]:
    return {"executor": "ray", "ray_address": nodes.address}


def with_model(server: LoopbackServer) -> dict[str, object]:
    return {"agent": None, "model": "openai/x", "base_url": server.base_url, "turn_limit": 20}


def scored(run: Run | RunStore) -> dict[tuple[str, str, int], dict[str, Any]]:
    """All of the scores but seconds; each episode once."""
    attempts: list[Attempt] = [*(run.attempts if isinstance(run, Run) else run.results())]
    found = {}
    for one in attempts:
        assert isinstance(one.verdict, Score), one
        assert one.key not in found
        conduct = asdict(one.verdict.conduct)
        timeless = {name: value for name, value in conduct.items() if name not in TIMES}
        found[one.item, one.mode, one.epoch] = {**timeless, **one.verdict.values}
    return found


def session(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = run.store.manifest["sessions"][-1]
    return found


def test_three_nodes_score_as_one_machine(three: Nodes, tmp_path: Path) -> None:
    here = play(tmp_path / "here", epochs=2)
    there = play(tmp_path / "there", epochs=2, max_samples=2, **on_nodes(three))
    assert there.status == "success"
    assert scored(there) == scored(here)
    assert len(scored(here)) == 2 * 43
    played = session(there)["nodes"]["episodes"]
    assert len(played) == 3
    assert sum(played.values()) == 2 * 43
    assert min(played.values()) > 10, played
    same = there.store.manifest["sandbox"] == here.store.manifest["sandbox"]
    assert same, there.store.manifest["sandbox"]


def test_a_node_is_lost_and_another_joins(three: Nodes, tmp_path: Path) -> None:
    data = load("builtin")
    model, places = SlowModel(data, 0.1), 3
    done = list[Attempt]()

    def change() -> None:
        three.lose(three.nodes[0])
        three.add()
        deadline = time.monotonic() + 50
        while model.under_way <= 3 * places and time.monotonic() < deadline:
            time.sleep(0.05)  # until the new node asks as well, however slowly it starts
        model.may.set()

    thread = threading.Thread(target=change)

    def asked(count: int) -> None:
        if count == 100:  # with requests under way on every node
            model.may.clear()
            thread.start()

    model.on_asked = asked
    with LoopbackServer(model) as server:
        run = play(
            tmp_path, done.append, epochs=2, max_samples=places, **on_nodes(three),
            **with_model(server),
        )  # fmt: skip
        assert not server.errors
        requests = [*model.asked]
        thread.join()
        here = play(tmp_path / "here", epochs=2, **with_model(server))
    assert (run.status, run.fault) == ("success", "")
    assert scored(run) == scored(here)
    nodes = session(run)["nodes"]
    assert len(nodes["lost"]) == 1
    assert len(nodes["episodes"]) == 4, "the node that joined was used"
    # Each episode has one result, and what the lost node had finished was not asked for again.
    assert len(done) == 2 * 43
    again = sum(max(0, count - 2) for count in Counter(requests).values())
    assert again <= 3, "no more than what was under way on the lost node"
    assert any(one.prefix_turns for one in run.store.results()), "an attempt was taken up"
    spent = run.store.manifest["spent"]["replies"]
    assert len(requests) - 3 <= spent <= len(requests)
    assert sum(one.spent.replies for one in run.store.attempts()) == spent


def test_the_driver_is_killed_and_the_run_resumed(three: Nodes, tmp_path: Path) -> None:
    model = SlowModel(load("builtin"), 0.1)
    before = set(processes("ray::Host"))
    with LoopbackServer(model) as server:
        run = command("run", *asking(three, server), cwd=tmp_path)
        until(lambda: len(model.asked) >= 60, "60 requests")
        run.kill()
        run.communicate()
        assert run.returncode == -signal.SIGKILL
        until(lambda: set(processes("ray::Host")) <= before, "end of the actors")
        (folder,) = (tmp_path / "logs").iterdir()
        have = {
            (trace.started.item, number)
            for trace in RunStore.open(folder).traces()
            for number in range(len(trace.replies))
        }
        assert len(have) >= 60 - 9 - 3, "replies are on the disk as they come"
        first = len(model.asked)
        again = command("run", "--resume", str(folder), cwd=tmp_path)
        _, said = again.communicate(timeout=90)
        assert again.returncode == 0, said
        assert not have & set(model.asked[first:]), "nothing that was kept is asked for again"
        twice, turns = model.twice(), len(set(model.asked))
        here = play(tmp_path / "here", **with_model(server))
    store = RunStore.open(folder)
    assert scored(store) == scored(here)
    assert twice <= 9, "what was under way: three on each node"
    assert store.manifest["spent"]["replies"] == turns


def command(*flags: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, *flags], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OPENAI_API_KEY": "none"},
    )  # fmt: skip


def asking(nodes: Nodes, server: LoopbackServer) -> tuple[str, ...]:
    """Flags of a run by a served model on nodes."""
    there = f"--executor ray --ray-address {nodes.address} --sandbox process --turn-limit 20"
    model = f"--model openai/x --base-url {server.base_url} --log-dir logs --max-samples 3"
    return (*there.split(), *model.split())


def test_a_signal_ends_it_and_one_machine_resumes_it(three: Nodes, tmp_path: Path) -> None:
    model = SlowModel(load("builtin"), 0.1)
    with LoopbackServer(model) as server:
        run = command("run", *asking(three, server), cwd=tmp_path)
        until(lambda: len(model.asked) >= 60, "60 requests")
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
        assert run.returncode == 130, said
        assert "interrupted:" in said
        assert "Traceback" not in said
        assert not processes("ray::Host")
        (folder,) = (tmp_path / "logs").iterdir()
        assert RunStore.open(folder).manifest["status"] == "cancelled"
        again = command("run", "--resume", str(folder), "--executor", "local", cwd=tmp_path)
        _, said = again.communicate(timeout=60)
        assert again.returncode == 0, said
    assert model.twice() <= 9
    assert len(scored(RunStore.open(folder))) == 43


def test_standard_output_is_data_whatever_befalls_nodes(three: Nodes, tmp_path: Path) -> None:
    model = SlowModel(load("builtin"), 0.1)
    with LoopbackServer(model) as server:
        run = command("run", "--json", "--epochs", "2", *asking(three, server), cwd=tmp_path)
        until(lambda: len(model.asked) >= 40, "40 requests")
        three.lose(three.nodes[0])
        said, warned = run.communicate(timeout=90)
    assert run.returncode == 0, warned
    assert json.loads(said)["status"] == "success"
    assert " is lost with " in warned
    assert "Traceback" not in warned


def test_an_ablation(three: Nodes, tmp_path: Path) -> None:
    """Its arms are runs, and forked episodes resume from turns that the driver has."""
    own = f"ablate --agent {AGENT} --limit 6 --sandbox process --turn-limit 20 --json --log-dir"
    figures = []
    for more in ((), ("--executor", "ray", "--ray-address", three.address)):
        run = command(*own.split(), f"logs{len(more)}", *more, cwd=tmp_path)
        said, warned = run.communicate(timeout=120)
        assert run.returncode == 0, warned
        found = json.loads(said)
        figures.append({name: found[name] for name in ("rows", "flips", "arms")})
    assert figures[0] == figures[1]
    assert figures[0]["flips"] or figures[0]["rows"]


def test_limits_hold_for_all_nodes_together(three: Nodes, tmp_path: Path) -> None:
    model = SlowModel(load("builtin"), 0.05)
    with LoopbackServer(model) as server:
        settings = {**on_nodes(three), **with_model(server), "max_samples": 3}
        run = play(tmp_path / "tokens", run_token_limit=60_000, **settings)
        assert (run.status, run.stopped_by) == ("limited", "run_token_limit")
        tokens = run.store.manifest["spent"]["input_tokens"]
        tokens += run.store.manifest["spent"]["output_tokens"]
        largest = max(
            reply.reply.usage.input_tokens + reply.reply.usage.output_tokens
            for trace in run.store.traces()
            for reply in trace.replies
        )
        # As on one machine: passed by a reply of each episode under way.
        assert 60_000 <= tokens <= 60_000 + 9 * largest
        assert run.store.manifest["spent"]["replies"] == len(model.asked)


def test_limits_hold_where_a_node_is_lost_in_between(three: Nodes, tmp_path: Path) -> None:
    model = SlowModel(load("builtin"), 0.05)

    def change() -> None:
        three.lose(three.nodes[0])
        three.add()
        model.may.set()

    thread = threading.Thread(target=change)

    def asked(count: int) -> None:
        if count == 40:  # with requests under way on every node
            model.may.clear()
            thread.start()

    model.on_asked = asked
    with LoopbackServer(model) as server:
        settings = {**on_nodes(three), **with_model(server), "max_samples": 3}
        run = play(tmp_path, run_token_limit=60_000, **settings)
        thread.join()
        assert (run.status, run.stopped_by) == ("limited", "run_token_limit")
        assert len(session(run)["nodes"]["lost"]) == 1
        spent = run.store.manifest["spent"]
        traced = [reply.reply.usage for trace in run.store.traces() for reply in trace.replies]
        largest = max(one.input_tokens + one.output_tokens for one in traced)
        tokens = spent["input_tokens"] + spent["output_tokens"]
        assert 60_000 <= tokens <= 60_000 + 9 * largest
        # Nothing that arrived is forgotten, and nothing is counted twice that was taken up again.
        paid = [one.spent for one in run.store.attempts()]
        assert sum(one.tokens for one in paid) == tokens
        assert sum(one.replies for one in paid) == spent["replies"]
        assert len(model.asked) - 3 <= spent["replies"] <= len(model.asked)


def test_requests_under_way_are_bounded_for_all_nodes_together(
    three: Nodes, tmp_path: Path
) -> None:
    model = SlowModel(load("builtin"), 0.05)
    with LoopbackServer(model, capacity=4) as server:
        settings = {**on_nodes(three), **with_model(server), "max_samples": 4}
        run = play(tmp_path, limit="12", max_connections=4, **settings)
        assert run.status == "success"
        assert RequestFault.RATE_LIMITED not in server.counts, server.counts
    assert model.most == 4
    assert session(run)["connections"]["most"] == 4


def test_a_refusal_for_overload_slows_all_nodes(three: Nodes, tmp_path: Path) -> None:
    model = SlowModel(load("builtin"), 0.05)
    with LoopbackServer(model, capacity=3) as server:
        settings = {**on_nodes(three), **with_model(server), "max_samples": 3}
        run = play(tmp_path, limit="12", max_retries=9, **settings)
        assert run.status == "success"
    rates = session(run)["connections"]
    assert rates["most"] == 9
    assert rates["refused"] > 0
    assert rates["lowest"] < 9
    assert rates["refused"] == server.counts[RequestFault.RATE_LIMITED]


def test_a_node_with_other_code_is_refused(three: Nodes, tmp_path: Path) -> None:
    """At the start, and when it joins."""
    other = tmp_path / "other"
    shutil.copytree(ROOT / "sandbox" / "toolhop_sandbox", other / "toolhop_sandbox")
    with (other / "toolhop_sandbox" / "outcome.py").open("a") as file:
        file.write("# one line more\n")
    unlike = three.add(PYTHONPATH=str(other))
    try:
        with pytest.raises(ClusterFault, match=r"other software than this machine.*code: "):
            play(tmp_path / "none", **on_nodes(three))
        assert not (tmp_path / "none").exists()
    finally:
        three.lose(unlike)


def test_a_node_with_other_code_that_joins_plays_nothing(
    three: Nodes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other"
    shutil.copytree(ROOT / "sandbox" / "toolhop_sandbox", other / "toolhop_sandbox")
    with (other / "toolhop_sandbox" / "outcome.py").open("a") as file:
        file.write("# one line more\n")
    joined: list[Any] = []
    model = SlowModel(load("builtin"), 0.1)

    def add() -> None:
        joined.append(three.add(PYTHONPATH=str(other)))

    def join(count: int) -> None:
        if count == 20:
            thread = threading.Thread(
                target=lambda: joined.append(three.add(PYTHONPATH=str(other)))
            )
            thread.start()

    model.on_asked = join
    with LoopbackServer(model) as server:
        run = play(tmp_path, epochs=2, max_samples=2, **on_nodes(three), **with_model(server))
    until(lambda: joined, "node that joined")
    three.lose(joined[0])
    assert run.status == "success"
    assert len(session(run)["nodes"]["episodes"]) == 3
    assert "joined and is not used" in caplog.text
    assert "other software than this machine" in caplog.text


def test_a_node_with_another_sandbox_is_refused(three: Nodes, tmp_path: Path) -> None:
    """`auto` is Docker where an engine answers; on one node none does."""
    unlike = three.add(DOCKER_HOST="unix:///nowhere/docker.sock")
    try:
        with pytest.raises(ClusterFault, match=r"the sandbox of node .* is not that of the other"):
            play(tmp_path / "none", sandbox="auto", **on_nodes(three))
        assert not (tmp_path / "none").exists()
    finally:
        three.lose(unlike)


def test_a_node_that_has_just_gone_is_no_fault(three: Nodes, tmp_path: Path) -> None:
    """The cluster takes some seconds to see it, and has it among its nodes until then."""
    three.lose(three.nodes[0])
    run = play(tmp_path, limit="6", **on_nodes(three))
    assert run.status == "success"
    assert len(session(run)["nodes"]["episodes"]) == 2


def test_no_node_that_plays(tmp_path: Path, shared: Nodes) -> None:
    shared.have(0)
    with pytest.raises(ClusterFault, match="no node with processors"):
        play(tmp_path, **on_nodes(shared))


HEAD = """
from ray.cluster_utils import Cluster
given = {"num_cpus": 1, "object_store_memory": 80 << 20}
head = Cluster(initialize_head=True, head_node_args=given)
print(head.address, flush=True)
input()
head.shutdown()
"""


def test_a_cluster_that_asks_for_a_token(tmp_path: Path) -> None:
    with_token = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a" * 64}
    without = os.environ | {"HOME": str(tmp_path)}
    command = [sys.executable, "-m", "toolhop_agents", "run", "--limit", "1", "--executor", "ray",
               "--sandbox", "process", "--log-dir", str(tmp_path / "runs")]  # fmt: skip

    def run(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "--ray-address", address], env=environment, capture_output=True, text=True
        )

    with subprocess.Popen(
        [sys.executable, "-c", HEAD], env=with_token,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as head:  # fmt: skip
        assert head.stdin is not None
        assert head.stdout is not None
        address = head.stdout.readline().strip()
        left_out, given = run(without), run(with_token)
        head.stdin.write("\n")
    assert left_out.returncode != 0
    assert "fix: most likely the cluster asks for a token: set RAY_AUTH_MODE" in left_out.stderr
    assert "start one with" not in left_out.stderr
    assert given.returncode == 0, given.stderr


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("127.0.0.1:1", "nothing answers"),
        ("nowhere.invalid:6379", "nothing answers"),
        ("ray://127.0.0.1:10001", "started on a machine of the cluster"),
        ("garbage", "is no HOST:PORT"),
        ("127.0.0.1:port", "is no HOST:PORT"),
        ("127.0.0.1:70000", "is no HOST:PORT"),
        ("", "is no HOST:PORT"),
    ],
)
def test_an_address_that_is_wrong(address: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ClusterFault, match=says):
        play(tmp_path, executor="ray", ray_address=address)
    assert not [*tmp_path.glob("*")]
