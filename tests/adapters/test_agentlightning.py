"""The example for Agent Lightning, by its own server and controller: rollouts are worth what the
items score in `toolhop run`, and one that fails has no reward.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.played import AGENT, run_scores

pytest.importorskip("agentlightning", reason="needs agentlightning: make test-adapters")
pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
BIN = Path(sys.executable).parent
EXAMPLES = Path(__file__).parents[2] / "examples"
ENDED = ("succeeded", "failed")


@contextlib.contextmanager
def running(folder: Path, *command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [str(BIN / command[0]), *command[1:]], cwd=folder, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"} | environment,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=60)


def asked(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 -- the test's own server
        url, data, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 -- the same
        return json.load(answer)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[str]:
    """The address of Agent Lightning's server; its controller and a scripted agent are there."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    server = ("agl-server", "host=127.0.0.1", f"port={port}", "default_proxy.model_name=policy")
    controller = ("agl-controller", "runner_type=local", f"agl_server.url={address}",
                  "local_runner.poll_interval=1", "local_runner.maximum_size=2")  # fmt: skip
    agent = {"PYTHONPATH": str(EXAMPLES), "TOOLHOP_SANDBOX": "process"}
    with (
        running(tmp_path, "toolhop", "serve", "--agent", AGENT) as serve,
        running(tmp_path, *server),
        running(tmp_path, *controller, **agent),
    ):
        assert serve.stdout is not None
        endpoint = serve.stdout.readline().strip()
        for _ in range(120):
            with contextlib.suppress(urllib.error.URLError):
                asked(f"{address}/healthz")
                break
            time.sleep(0.5)
        asked(f"{address}/api/models", [{"model": "policy", "endpoint": endpoint}])
        yield address


def test_rollouts_are_worth_what_items_score(gateway: str, tmp_path: Path) -> None:
    expected = run_scores(tmp_path / "run", limit="3")
    config = {"local": {"agent_class": "agentlightning_agent:ToolHopAgent",
                        "env_map": {"TOOLHOP_ITEM": "input.item"}}}  # fmt: skip
    wanted = [{"input": {"item": item}, "config": config} for item in (*expected, "nowhere")]
    made = {one["rollout_id"]: one["input"]["item"]
            for one in asked(f"{gateway}/api/rollouts", wanted)}  # fmt: skip
    found: dict[str, tuple[str, list[float]]] = {}
    for _ in range(240):
        for name, item in made.items():
            state = asked(f"{gateway}/api/rollouts/{name}")["rollout"]["status"]["state"]
            if item not in found and state in ENDED:
                events = asked(f"{gateway}/api/rollouts/{name}/events")
                worth = [one["data"]["value"] for one in events if one["event_type"] == "reward"
                         and one["data"].get("source") == "agent"]  # fmt: skip
                found[item] = (state, worth)
        if len(found) == len(made):
            break
        time.sleep(0.5)
    assert found == {
        **{item: ("succeeded", [one.value("strict")]) for item, one in expected.items()},
        "nowhere": ("failed", []),
    }
